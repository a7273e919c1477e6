"""Start, end, portions and what is refused: each at its boundary."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from tests.schedule_ticks.firing import HOUR, MICROSECOND, NOON, add, fire_all, outcome

from kairos.errors import BadRequest

FIRST = datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))
LAST = datetime.max.replace(tzinfo=timezone(timedelta(hours=-12)))


@pytest.mark.parametrize(("moved", "first"), [(-1, NOON + HOUR), (0, NOON + HOUR), (1, NOON + 2 * HOUR)])
async def test_a_tick_at_the_start_is_the_first_one(app, moved, first):
    schedule = await add(app, "every hour", start=NOON + HOUR + moved * MICROSECOND)
    assert (schedule.next_tick_at, schedule.next_ticks[0]) == (first, first)
    await app.clock.freeze(first)
    await fire_all(app)
    (tick,) = await app.schedules.ticks("report")
    assert tick.tick_at == first


@pytest.mark.parametrize(("moved", "fired"), [(-1, 1), (0, 2), (1, 2)])
async def test_a_tick_at_the_end_is_the_last_one(app, moved, fired):
    schedule = await add(app, "every hour", catch_up="all", end=NOON + 2 * HOUR + moved * MICROSECOND)
    assert len(schedule.next_ticks) == fired
    await app.clock.freeze(NOON + 5 * HOUR)
    await fire_all(app)
    assert await outcome(app) == (fired, 0)
    assert (await app.schedules.get("report")).next_tick_at is None


async def test_a_start_far_away_shows_only_the_ticks_from_there_on(app):
    start = NOON + timedelta(days=30)
    schedule = await add(app, "every hour", start=start)
    assert schedule.next_ticks == tuple(start + number * HOUR for number in range(5))
    assert (schedule.start, schedule.end, schedule.count) == (start, None, None)


@pytest.mark.parametrize("missed", [1, 2, 999, 1000, 1001, 2000, 2001, 2500])
async def test_the_last_missed_tick_stands_for_all_however_many(app, missed):
    await add(app, "every hour", catch_up="last")
    await app.clock.freeze(NOON + missed * HOUR + timedelta(minutes=5))
    await fire_all(app)
    assert await outcome(app) == (1, missed - 1)
    (fired,) = [tick for tick in await app.schedules.ticks("report", limit=10_000) if tick.job_id]
    assert fired.tick_at == NOON + missed * HOUR


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("count", {"count": 2**40}),
        ("count", {"count": 0}),
        ("count", {"count": True}),
        ("count", {"count": "5"}),
        ("foo", {"foo": 1}),
        ("start", {"start": FIRST}),
        ("end", {"end": LAST}),
        ("start", {"start": datetime(2026, 1, 1)}),
        ("end", {"end": "tomorrow"}),
        ("tz", {"tz": 5}),
        ("tz", {"tz": "UTC\0"}),
        ("jitter", {"jitter": -1}),
        ("when", {"when": 5}),
        ("when", {"when": "every hour\0"}),
        ("start", {"start": datetime(1, 12, 31, tzinfo=UTC)}),
        ("end", {"end": datetime(9999, 1, 1, tzinfo=UTC)}),
        ("when", {"when": "every day", "end": datetime(2, 1, 1, tzinfo=UTC)}),
    ],
    ids=str,
)
async def test_a_bad_option_is_refused_by_its_name(app, field, options):
    with pytest.raises(BadRequest) as refused:
        await add(app, **options)
    assert refused.value.field == field
    assert await app.schedules.list() == []


@pytest.mark.parametrize("name", ["", "a\0b", "a\nb", "\ud800", "n" * 256, 5, None], ids=repr)
async def test_a_bad_name_is_refused_by_every_verb(app, name):
    schedules = app.schedules
    asked = [
        lambda: schedules.add(name, "every hour", app.report.call()),
        *(lambda verb=verb: verb(name) for verb in (schedules.get, schedules.ticks, schedules.pause)),
        *(lambda verb=verb: verb(name) for verb in (schedules.resume, schedules.trigger, schedules.remove)),
        lambda: schedules.backfill(name, NOON, NOON + HOUR),
    ]
    for ask in asked:
        with pytest.raises(BadRequest) as refused:
            await ask()
        assert refused.value.field == "name"


async def test_a_start_in_the_second_year_is_just_long_ago(app):
    schedule = await add(app, "every hour", start=datetime(2, 1, 1, tzinfo=UTC))
    assert schedule.next_tick_at == NOON + HOUR


@pytest.mark.parametrize("limit", [-1, 0, 10_001, 2**40, "5", True])
async def test_a_page_of_ticks_has_1_to_10_000(app, limit):
    await add(app)
    with pytest.raises(BadRequest) as refused:
        await app.schedules.ticks("report", limit=limit)
    assert refused.value.field == "limit"


async def test_other_bad_words_are_refused_by_their_name(app):
    await add(app)
    for field, ask in {
        "before": lambda: app.schedules.ticks("report", before=FIRST),
        "reason": lambda: app.schedules.pause("report", "a\0b"),
        "start": lambda: app.schedules.backfill("report", FIRST, NOON),
        "end": lambda: app.schedules.backfill("report", NOON, NOON - MICROSECOND),
    }.items():
        with pytest.raises(BadRequest) as refused:
            await ask()
        assert refused.value.field == field
