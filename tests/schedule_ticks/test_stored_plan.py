"""A schedule fires by its stored plan, whatever becomes of the grammar, and old and new workers agree on it."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest
from tests.captured_logs import capture_logs
from tests.schedule_ticks.firing import HOUR, NOON, add, fire_all, outcome

from kairos.alarms.thresholds import Thresholds
from kairos.errors import PlanUnreadable
from kairos.operations.alarm_checks import CHECKS, query
from kairos.operations.schedules import read_row
from kairos.schedule import IntentError, parse, when
from kairos.store.query import Query
from kairos.store.schedule_rows import stored_plan

TEXTS = [
    "every minute",
    "*/7 9-17 * * 1-5",
    "every other day at 12:30",
    "every 90 minutes from 2026-03-02 12:00",
    "DTSTART:20260302T123000Z\nRRULE:FREQ=MONTHLY;BYDAY=MO,WE;BYSETPOS=1,2",
]


@pytest.fixture
def database(kairos_database: str) -> str:
    """A database of each test's own: some tests here change its tables."""
    return kairos_database


@pytest.fixture
def sql(database):
    """Run a statement beside Kairos, as an operator or an older release would."""

    async def run(statement, *values):
        async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
            await connection.execute(statement, values)

    return run


def refuse_everything(text, *_):
    raise IntentError("The grammar has changed.", text=text)


async def ticks_of(app, name):
    return sorted(tick.tick_at for tick in await app.schedules.ticks(name, limit=10_000))


@pytest.mark.parametrize("text", TEXTS)
async def test_a_schedule_fires_at_the_same_instants_after_the_grammar_has_changed(app, monkeypatch, text):
    made = await add(app, text, catch_up="all")
    expected = when(text, now=NOON).between(NOON, NOON + 24 * HOUR)
    monkeypatch.setattr(parse, "parse", refuse_everything)
    with pytest.raises(IntentError, match="The grammar has changed"):
        when(text)
    await app.clock.freeze(NOON + 24 * HOUR)
    await fire_all(app)
    assert await ticks_of(app, "report") == expected
    after = await app.schedules.get("report")
    assert (after.sentence, after.pause_reason, after.generation) == (made.sentence, None, 1)
    assert after.next_ticks[0] == after.next_tick_at
    assert await app.schedules.backfill("report", NOON - 48 * HOUR, NOON) is not None


async def test_a_deploy_with_the_same_words_keeps_the_plan_when_the_grammar_has_changed(app, monkeypatch):
    await add(app, "every minute")
    monkeypatch.setattr(parse, "parse", refuse_everything)
    assert (await add(app, "every minute")).generation == 1


async def test_the_plan_of_a_schedule_that_an_older_release_saved_is_stored_when_the_first_tick_fires(
    app, sql
):
    await add(app, "every minute")
    await app.schedules.add("yearly", "every year on 1 January at 09:00", app.report.call())
    await sql("update kairos.schedules set plan = null, plan_generation = null")
    assert (await app.schedules.get("report")).next_ticks
    await app.clock.move("1m")
    await fire_all(app)
    rows = await app.store.run(Query("list_schedules_without_plan", ("", 10)))
    assert list(rows) == []
    assert await outcome(app) == (1, 0)


async def test_an_edit_by_an_older_release_replaces_the_plan(app, sql):
    await add(app, "every minute")
    await sql(
        "update kairos.schedules set intent = %s, sentence = %s, generation = generation + 1, next_tick_at = %s",
        "every hour",
        "every hour (UTC)",
        NOON + HOUR,
    )
    assert (await app.schedules.get("report")).next_ticks[0] == NOON + HOUR
    await app.clock.freeze(NOON + HOUR)
    await fire_all(app)
    assert await ticks_of(app, "report") == [NOON + HOUR]


async def test_a_plan_of_a_newer_release_is_left_to_newer_workers_raises_an_alarm_and_stops_no_other(
    app, sql
):
    await add(app, "every minute")
    await app.schedules.add("another", "every minute", app.report.call())
    await sql("update kairos.schedules set plan = plan || '{\"version\": 2}' where name = 'report'")
    assert (await app.schedules.get("report")).next_ticks == ()
    with pytest.raises(PlanUnreadable, match="upgrade"):
        await app.schedules.backfill("report", NOON - HOUR, NOON)
    await app.clock.move("3m")
    await fire_all(app)
    assert (await outcome(app), await outcome(app, "another")) == ((0, 0), (2, 1))
    assert (await app.schedules.get("report")).paused_at is None
    (check,) = (each for each in CHECKS if "schedule_unreadable" in each.kinds)
    found = await app.store.run(query(check, Thresholds()))
    assert [
        (row["kind"], row["subject"], row["detail"]) for row in found if row["kind"] == "schedule_unreadable"
    ] == [("schedule_unreadable", "report", "2")]
    await sql("update kairos.schedules set plan = plan || '{\"version\": 1}' where name = 'report'")
    await fire_all(app)
    assert await outcome(app) == (2, 1)


async def test_a_damaged_plan_pauses_its_schedule_with_the_reason_and_stops_no_other(app, sql):
    await add(app, "every minute")
    await app.schedules.add("another", "every minute", app.report.call())
    await sql("update kairos.schedules set plan = '{\"version\": 1, \"rules\": 5}' where name = 'report'")
    await app.clock.move("1m")
    with capture_logs() as logs:
        await fire_all(app)
    assert await outcome(app, "another") == (1, 0)
    assert "damaged" in (await app.schedules.get("report")).pause_reason
    assert [line["schedule"] for line in logs if line["log_level"] == "error"] == ["report"]


async def test_a_schedule_whose_ticks_postgres_refuses_stops_no_other_and_raises_an_alarm(app, sql):
    await add(app, "every minute")
    await app.schedules.add("another", "every minute", app.report.call())
    await sql("alter table kairos.ticks add constraint unlucky check (schedule <> 'report')")
    await sql(
        "insert into kairos.workers (id, host, pid, queues, actions, concurrency, started_at, seen_at)"
        " values ('w1', 'box', 1, '{}', '{}', 1, %s, %s)",
        NOON,
        NOON + timedelta(minutes=4),
    )
    await app.clock.move("4m")
    with capture_logs() as logs:
        await fire_all(app)
    assert (await outcome(app, "another"), await outcome(app)) == ((2, 2), (0, 0))
    (line,) = (line for line in logs if line["log_level"] == "error")
    assert line["schedule"] == "report"
    assert "unlucky" in line["error"]
    (check,) = (each for each in CHECKS if "schedule_overdue" in each.kinds)
    found = await app.store.run(query(check, Thresholds()))
    assert [(row["kind"], row["subject"]) for row in found] == [("schedule_overdue", "report")]


async def test_the_stored_plan_is_the_plan_of_the_sentence(app):
    for text in TEXTS:
        made = await add(app, text)
        plan = stored_plan(await app.run(read_row("report")), {})
        assert plan == parse.read_sentence(made.sentence)
