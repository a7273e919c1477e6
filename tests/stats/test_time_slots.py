"""Where things are counted: boundaries of slots and buckets first, then waits, runs, series and refusals."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.boundaries.frozen_time import SECOND, US, Moment, around
from tests.engine_statements import done, go, replay, stop
from tests.stats.counting import count, now, slots

from kairos.errors import BadRequest
from kairos.fsm.lifecycle import Verb
from kairos.histogram import middle_ms, percentiles, upper_ms

MINUTE = 60 * SECOND


def minute_of(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)


@around
async def test_a_job_belongs_to_the_minute_in_which_it_was_accepted(
    moment: Moment, offset: timedelta
) -> None:
    boundary = minute_of(moment.start)
    await moment.at(boundary + offset)
    await moment.enqueue()
    await count(moment.store)
    await moment.at(boundary + 30 * SECOND)
    found = await slots(moment.store, start=boundary - MINUTE, end=boundary + MINUTE)
    assert [slot.accepted for slot in found] == ([1, 0] if offset < 0 * US else [0, 1])
    assert [slot.at for slot in found] == [boundary - MINUTE, boundary]


@around
async def test_an_end_belongs_to_the_minute_in_which_it_came_and_a_start_to_its_own(
    moment: Moment, offset: timedelta
) -> None:
    boundary = minute_of(moment.start)
    await moment.at(boundary - 2 * SECOND)
    await moment.enqueue()
    await moment.at(boundary - SECOND)
    hand = moment.worker()
    claims = await hand.pick()
    await moment.at(boundary + offset)
    await hand.commit(done(claims[0]))
    await count(moment.store)
    found = await slots(moment.store, start=boundary - MINUTE, end=boundary + MINUTE)
    assert [slot.success for slot in found] == ([1, 0] if offset < 0 * US else [0, 1])
    assert [slot.started for slot in found] == [1, 0]


@pytest.mark.parametrize("step", [60, 300, 3600, 86400])
@around
async def test_a_slot_of_any_step_ends_before_the_next_begins(
    moment: Moment, step: int, offset: timedelta
) -> None:
    boundary = datetime.fromtimestamp(moment.start.timestamp() // step * step, UTC)
    await moment.at(boundary + offset)
    await moment.enqueue()
    await count(moment.store)
    length = step * SECOND
    found = await slots(moment.store, start=boundary - length, end=boundary + length, step=step)
    assert [slot.accepted for slot in found] == ([1, 0] if offset < 0 * US else [0, 1])


async def test_the_database_and_python_put_a_length_into_the_same_bucket(moment: Moment) -> None:
    for bucket in range(1, 120):
        inside = (upper_ms(bucket - 1) + upper_ms(bucket)) / 2
        found = await moment.value("select kairos.bucket($1 * interval '1 ms')", inside)
        if inside > 0.2:  # under that, a bucket is narrower than a few microseconds
            assert found == bucket
    assert await moment.value("select kairos.bucket(interval '-1 s')") == 0
    assert await moment.value("select kairos.bucket(interval '0.1 ms')") == 0
    assert await moment.value("select kairos.bucket(interval '100 years')") == 150


@given(st.lists(st.floats(0.11, 1e9), min_size=1, max_size=50))
def test_a_percentile_is_within_ten_percent_of_the_exact_one(lengths: list[float]) -> None:
    counts: dict[int, int] = {}
    for length in lengths:
        bucket = next(n for n in range(1, 200) if length < upper_ms(n))
        counts[bucket] = counts.get(bucket, 0) + 1
    exact = sorted(lengths)
    for percent in (50, 95, 99):
        wanted = exact[-(-len(exact) * percent // 100) - 1]
        assert percentiles(counts)[f"p{percent}"] == pytest.approx(wanted, rel=0.1)


def test_nothing_measured_has_no_percentile() -> None:
    assert percentiles({}) == {"p50": None, "p95": None, "p99": None}
    assert percentiles({0: 3})["p50"] == middle_ms(0) == 0.1


async def test_a_wait_counts_from_when_it_was_due_and_a_run_from_when_it_was_picked(moment: Moment) -> None:
    await moment.enqueue(delay=10)
    hand = moment.worker()
    await moment.at(moment.start + 15 * SECOND)
    claims = await hand.pick()
    await moment.at(moment.start + 17 * SECOND)
    await hand.commit(done(claims[0]))
    await count(moment.store)
    found = (await now(moment.store)).window
    assert percentiles(found.waits)["p50"] == pytest.approx(5000, rel=0.1)
    assert percentiles(found.runs)["p50"] == pytest.approx(2000, rel=0.1)
    assert (found.accepted, found.started, found.success) == (1, 1, 1)


async def test_each_run_of_a_job_has_its_own_wait_and_steps_run_ahead_have_none(moment: Moment) -> None:
    await moment.enqueue()
    hand = moment.worker()
    await moment.at(moment.start + SECOND)  # waited 1 s
    claims = await hand.pick()
    await moment.at(moment.start + 2 * SECOND)
    await hand.commit(go(claims[0], ahead=True))  # ran 1 s, goes on at once
    await moment.at(moment.start + 4 * SECOND)
    await hand.commit(replay(hand.claims[0], 6 * SECOND, Verb.RETRY))  # ran 2 s, due again at 10
    await moment.at(moment.start + 18 * SECOND)  # waited 8 s
    claims = await hand.pick()
    await moment.at(moment.start + 34 * SECOND)
    await hand.commit(stop(claims[0]))  # ran 16 s
    await count(moment.store)
    found = (await now(moment.store)).window
    assert _lengths(found.waits) == pytest.approx([1, 8], rel=0.1)
    assert _lengths(found.runs) == pytest.approx([1, 2, 16], rel=0.1)
    assert (found.started, found.retried, found.failed, found.accepted) == (2, 1, 1, 1)


async def test_a_lost_run_counts_as_started_but_not_as_run(moment: Moment) -> None:
    job = await moment.enqueue()
    await moment.at(moment.start + SECOND)
    await moment.worker().pick()
    await moment.let_leases_expire(job)
    await moment.sweep()
    await count(moment.store)
    found = (await now(moment.store)).window
    assert (found.started, dict(found.runs)) == (1, {})
    assert _lengths(found.waits) == pytest.approx([1], rel=0.1)


async def test_the_window_tells_actions_apart_and_the_queues_tell_what_is_live(moment: Moment) -> None:
    await moment.enqueue_many(
        {"action": "a", "queue": "one"},
        {"action": "a", "queue": "two"},
        {"action": "b", "queue": "one", "delay": 60},
        {"action": "b", "queue": "one"},
    )
    await moment.at(moment.start + SECOND)
    hand = moment.worker("w", ["one"])
    claims = await hand.pick("one")
    await hand.commit(done(next(claim for claim in claims if claim.action == "a")))
    await count(moment.store)
    found = await now(moment.store)
    assert [(slot.action, slot.accepted, slot.success) for slot in found.actions] == [
        ("a", 2, 1),
        ("b", 2, 0),
    ]
    loads = {load.name: load for load in found.queues}
    assert (loads["one"].scheduled, loads["one"].pending, loads["one"].running) == (1, 0, 1)
    assert (loads["two"].pending, loads["two"].oldest_at) == (1, moment.start)
    assert found.states["running"] == 1 and found.states["success"] == 1
    only = await slots(moment.store, action="b", queue="one", start=moment.start, end=moment.start + SECOND)
    assert sum(slot.accepted for slot in only) == 2


async def test_a_series_without_bounds_is_the_last_sixty_slots_with_the_present_one_last(
    moment: Moment,
) -> None:
    await moment.enqueue()
    await count(moment.store)
    found = await slots(moment.store)
    assert (len(found), found[-1].accepted) == (60, 1)
    assert found[-1].at <= moment.start < found[-1].at + MINUTE


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"step": 59}, "step"),
        ({"step": 61}, "step"),
        ({"step": 86401}, "step"),
        ({"step": 7 * 60}, "step"),
        ({"start": timedelta(0), "end": timedelta(0)}, "from"),
        ({"start": timedelta(minutes=-1501), "end": timedelta(0)}, "step"),
        ({"start": timedelta(days=-8), "end": timedelta(days=-8) + timedelta(hours=1)}, "from"),
    ],
    ids=str,
)
async def test_a_series_that_cannot_be_is_refused(
    moment: Moment, asked: dict[str, object], field: str
) -> None:
    around_now = {
        name: minute_of(moment.start) + value if isinstance(value, timedelta) else value
        for name, value in asked.items()
    }
    with pytest.raises(BadRequest) as refused:
        await slots(moment.store, **around_now)
    assert refused.value.field == field


async def test_a_series_of_the_most_points_is_answered(moment: Moment) -> None:
    end = minute_of(moment.start)
    assert len(await slots(moment.store, start=end - 1500 * MINUTE, end=end)) == 1500


@around
async def test_minutes_are_kept_for_a_week_and_hours_for_longer(moment: Moment, offset: timedelta) -> None:
    await moment.at(minute_of(moment.start))
    await moment.enqueue()
    await count(moment.store)
    await moment.at(minute_of(moment.start) + timedelta(days=7) + offset)
    await moment.run("purge_stats", timedelta(days=7), timedelta(days=90), 100)
    left = await moment.fetch("select grain from kairos.tallies order by 1")
    assert [row["grain"] for row in left] == ([0, 3600] if offset > 0 * US else [0, 60, 3600])


def _lengths(counts: Mapping[int, int]) -> list[float]:
    """Measured lengths in seconds."""
    return sorted(middle_ms(bucket) / 1000 for bucket, number in counts.items() for _ in range(number))
