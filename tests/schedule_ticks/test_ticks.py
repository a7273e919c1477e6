"""Exactly one job per tick, and a record of every tick that made none."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from tests.schedule_ticks.firing import NOON, add, fire_all, outcome

from kairos import IntentError
from kairos.errors import BadRequest, NotFound
from kairos.testing import drain
from kairos.worker import ticker
from kairos.worker.ticker import MAX_TICKS, Ticker


@pytest.fixture
def database(kairos_database: str) -> str:
    """A database of each test's own: some tests here change its tables."""
    return kairos_database


@pytest.mark.parametrize(("moved", "fired"), [(-1, 0), (0, 1), (1, 1)])
async def test_a_tick_fires_at_its_instant_and_not_a_microsecond_before(app, moved, fired):
    await add(app, "every hour")
    await app.clock.freeze(NOON + timedelta(hours=1, microseconds=moved))
    await fire_all(app)
    assert await outcome(app) == (fired, 0)


async def test_the_job_of_a_tick_knows_its_schedule_and_runs(app):
    schedule = await add(app)
    assert schedule.next_tick_at == NOON + timedelta(minutes=1)
    await app.clock.freeze(schedule.next_tick_at)
    assert await drain(app) == 1
    (tick,) = await app.schedules.ticks("report")
    job = await app.get(tick.job_id)
    assert (job.output, job.schedule, job.run_at) == ("today", "report", tick.tick_at)


@pytest.mark.parametrize("missed", [0, 1, 2, 99, 100, 101, 1000, 2500])
@pytest.mark.parametrize("catch_up", ["none", "last", "all"])
async def test_after_any_downtime_fired_and_skipped_are_all_there_is(app, missed, catch_up):
    await add(app, catch_up=catch_up, catch_up_within="1h")
    # Two minutes past the last tick: all of them are late.
    await app.clock.freeze(NOON + timedelta(minutes=missed, seconds=59))
    await fire_all(app)
    fired, skipped = await outcome(app)
    assert fired + skipped == missed
    await fire_all(app)
    assert await outcome(app) == (fired, skipped)


async def test_what_many_schedules_missed_is_decided_in_small_transactions(app):
    for number in range(10):
        await app.schedules.add(f"s{number}", "every minute", app.report.call())
    await app.clock.freeze(NOON + timedelta(minutes=500, seconds=59))
    assert await Ticker(app.store).fire()
    decided = sum([sum(await outcome(app, f"s{number}")) for number in range(10)])
    assert 0 < decided < 2 * MAX_TICKS
    await fire_all(app)
    assert [await outcome(app, f"s{number}") for number in range(10)] == [(1, 499)] * 10


async def test_a_ticker_that_takes_long_leaves_the_other_schedules_to_the_next_transaction(app, monkeypatch):
    for number in range(3):
        await app.schedules.add(f"s{number}", "every minute", app.report.call())
    await app.clock.freeze(NOON + timedelta(minutes=1))
    monkeypatch.setattr(ticker, "MAX_SECONDS", -1.0)
    assert await Ticker(app.store).fire()
    assert len(await app.jobs()) == 1
    await fire_all(app)
    assert len(await app.jobs()) == 3


async def test_a_schedule_whose_ticks_postgres_refuses_does_not_stop_the_others(app):
    for name in ("a", "refused", "z"):
        await app.schedules.add(name, "every minute", app.report.call())
    refuse = "begin if new.schedule = 'refused' then raise data_corrupted; end if; return new; end"
    async with app.store.connection() as connection:
        await connection.execute(
            f"create function public.refuse() returns trigger language plpgsql as $$ {refuse} $$;"
            "create trigger refuse before insert on kairos.gen_durable for each row execute function public.refuse()"
        )
    await app.clock.freeze(NOON + timedelta(minutes=1))
    await fire_all(app)
    assert [await outcome(app, name) for name in ("a", "refused", "z")] == [(1, 0), (0, 0), (1, 0)]
    assert (await app.schedules.get("refused")).paused_at is None
    async with app.store.connection() as connection:
        await connection.execute("drop function public.refuse() cascade")
    # Another worker does not know of the refusal; the first one tries again after a minute.
    await fire_all(app)
    assert await outcome(app, "refused") == (1, 0)


@pytest.mark.parametrize(("catch_up", "fired"), [("none", 1), ("last", 1), ("all", 3)])
async def test_catch_up_says_what_becomes_of_missed_ticks(app, catch_up, fired):
    await add(app, "every hour", catch_up=catch_up, catch_up_within="1h30m")
    await app.clock.freeze(NOON + timedelta(hours=4))
    await fire_all(app)
    late_enough = {"none": (1, 3), "last": (1, 3), "all": (2, 2)}
    assert await outcome(app) == late_enough[catch_up]
    assert fired


@pytest.mark.parametrize(("late", "fired"), [(-1, 1), (0, 1), (1, 0)])
async def test_a_tick_is_missed_a_minute_after_its_instant(app, late, fired):
    await add(app, "every hour", catch_up="none")
    await app.clock.freeze(NOON + timedelta(hours=1, seconds=60, microseconds=late))
    await fire_all(app)
    assert await outcome(app) == (fired, 1 - fired)


async def test_many_tickers_fire_each_tick_once(app):
    for number in range(50):
        await app.schedules.add(f"s{number}", "every minute", app.report.call())
    await app.clock.freeze(NOON + timedelta(minutes=1))
    await asyncio.gather(*(Ticker(app.store).fire() for _ in range(8)))
    jobs = await app.jobs(limit=1000)
    assert len(jobs) == 50
    assert len({job.schedule for job in jobs}) == 50


async def test_a_paused_schedule_records_what_fell_into_the_pause(app):
    await add(app)
    await app.schedules.pause("report", "holidays")
    await app.clock.move("5m")
    await fire_all(app)
    assert await outcome(app) == (0, 0)
    await app.schedules.resume("report")
    await app.clock.move("1m")
    await fire_all(app)
    assert await outcome(app) == (1, 5)


async def test_overlap_skip_leaves_out_ticks_while_a_job_is_live(app):
    await add(app, overlap="skip")
    for _ in range(3):
        await app.clock.move("1m")
        await fire_all(app)
    assert await outcome(app) == (1, 2)


async def test_overlap_cancel_ends_the_job_before_it(app):
    await add(app, overlap="cancel")
    for _ in range(2):
        await app.clock.move("1m")
        await fire_all(app)
    second, first = await app.schedules.ticks("report")
    assert (await app.get(first.job_id)).state == "cancelled"
    assert (await app.get(second.job_id)).state == "pending"


async def test_overlap_queue_runs_one_after_the_other(app):
    await add(app, overlap="queue")
    for _ in range(3):
        await app.clock.move("1m")
        await fire_all(app)
    assert {job.key for job in await app.jobs()} == {"schedule:report"}
    assert await drain(app) == 3


async def test_a_count_ends_a_schedule(app):
    await add(app, count=2, catch_up="all")
    await app.clock.move("10m")
    await fire_all(app)
    assert (await outcome(app))[0] == 2
    assert (await app.schedules.get("report")).next_tick_at is None


async def test_jitter_moves_the_job_and_not_the_tick(app):
    await add(app, jitter="30s")
    await app.clock.move("1m")
    await fire_all(app)
    (tick,) = await app.schedules.ticks("report")
    job = await app.get(tick.job_id)
    assert tick.tick_at == NOON + timedelta(minutes=1)
    assert timedelta(0) < job.run_at - tick.tick_at < timedelta(seconds=30)


async def test_the_same_words_again_change_nothing_and_others_raise_the_generation(app):
    first = await add(app, "every other day at 9am")
    await app.clock.move("3d")
    again = await add(app, "every other day at 9am")
    assert (again.generation, again.sentence) == (first.generation, first.sentence)
    assert (await add(app, "every day at 9am")).generation == first.generation + 1


async def test_a_trigger_fires_outside_the_ticks(app):
    await add(app, "every day at 9am")
    job_id = await app.schedules.trigger("report")
    assert await drain(app) == 1
    assert (await app.get(job_id)).schedule == "report"
    assert await app.schedules.ticks("report") == []


async def test_a_backfill_fires_only_what_was_never_decided(app):
    await add(app, "every hour")
    await app.clock.move("2h")
    await fire_all(app)
    made = await app.schedules.backfill("report", NOON - timedelta(hours=3), NOON + timedelta(hours=2))
    assert len(made) == 3
    assert await app.schedules.backfill("report", NOON - timedelta(hours=3), NOON + timedelta(hours=2)) == []


async def test_what_cannot_be_scheduled_is_refused(app):
    with pytest.raises(IntentError):
        await add(app, "next friday")
    with pytest.raises(BadRequest, match="never fire"):
        await add(app, "every day at 9am", end=NOON + timedelta(hours=1))
    with pytest.raises(BadRequest, match="overlap"):
        await add(app, overlap="maybe")
    with pytest.raises(BadRequest, match="count"):
        await add(app, count=0)
    for verb in (
        app.schedules.get,
        app.schedules.pause,
        app.schedules.resume,
        app.schedules.trigger,
        app.schedules.remove,
    ):
        with pytest.raises(NotFound):
            await verb("nothing")


async def test_a_job_may_say_when_in_words(app):
    job = await app.report.options(when="2026-12-24 18:00", tz="Europe/Berlin").enqueue()
    assert job.run_at == datetime(2026, 12, 24, 17, tzinfo=UTC)
    with pytest.raises(BadRequest, match="more than once"):
        app.report.options(when="every day at 9am")


async def test_a_schedule_that_has_come_to_its_end_can_still_be_read(app):
    await add(app, "2026-03-02 13:00")
    await app.clock.move("2h")
    await fire_all(app)
    ended = await app.schedules.get("report")
    assert (ended.next_tick_at, ended.next_ticks) == (None, ())
    assert (await outcome(app))[0] == 1
