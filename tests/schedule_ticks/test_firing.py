"""What a tick leaves behind: jobs that can still run, hints, a record; and a schedule nobody can read."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import psycopg
import pytest
from tests.captured_logs import capture_logs
from tests.schedule_ticks.firing import HOUR, MICROSECOND, NOON, add, fire_all, outcome

from kairos.errors import BadRequest
from kairos.store.query import Query
from kairos.testing import drain
from kairos.worker.pruner import Pruner
from kairos.worker.sweeper import Sweeper


async def change(database, sql):
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute(sql)


@pytest.mark.parametrize(
    "sentence",
    ["every blue moon", "every day at 09:00 (Europe/Atlantis)", "every day at 09:00 except mars-holidays"],
)
async def test_a_schedule_without_a_plan_and_a_sentence_that_cannot_be_read_is_paused_and_stops_no_other(
    app, database, sentence
):
    await add(app)
    await app.schedules.add("another", "every minute", app.report.call())
    await change(
        database,
        f"update kairos.schedules set sentence = '{sentence}', plan = null, plan_generation = null "
        "where name = 'report'",
    )
    assert [each.next_ticks == () for each in await app.schedules.list()] == [False, True]
    await app.clock.move("1m")
    with capture_logs() as logs:
        await Sweeper(app.store, "w").tick()
    assert await outcome(app, "another") == (1, 0)
    unread = await app.schedules.get("report")
    assert unread.pause_reason.startswith("its sentence cannot be read: ")
    assert [line["schedule"] for line in logs if line["log_level"] == "error"] == ["report"]
    await app.clock.move("1m")
    await Sweeper(app.store, "w").tick()
    assert (await outcome(app), await outcome(app, "another")) == ((0, 0), (2, 0))


async def test_a_sweeper_that_fired_a_schedule_comes_again_at_its_next_tick(app):
    await add(app, "every second")
    await app.clock.move("1s")
    assert await Sweeper(app.store, "w", interval=60).tick() == 1


async def test_a_sweeper_that_ended_a_job_comes_again_when_the_next_one_expires(app):
    for ttl in ("1s", "1.5s"):
        await app.report.options(ttl=ttl).enqueue()
    await app.clock.move("1s")
    assert await Sweeper(app.store, "w", interval=60).tick() == 0.5


async def test_the_ttl_of_a_late_job_begins_when_it_is_made(app):
    await app.schedules.add("report", "every hour", app.report.options(ttl="10m").call())
    await app.clock.freeze(NOON + HOUR + timedelta(minutes=30))
    await fire_all(app)
    (job,) = await app.jobs()
    assert job.expires_at == NOON + HOUR + timedelta(minutes=40)
    assert len(await app.schedules.backfill("report", NOON - 2 * HOUR, NOON)) == 2
    assert await drain(app) == 3


async def test_a_job_of_a_schedule_is_retried_with_the_ttl_of_the_schedule(app):
    await app.schedules.add("report", "every hour", app.report.options(ttl="10m").call())
    await app.clock.freeze(NOON + HOUR)
    await fire_all(app)
    await app.schedules.trigger("report")
    for job in await app.jobs():
        await app.cancel(job.id)
        again = await app.retry(job.id)
        assert again.expires_at == NOON + HOUR + timedelta(minutes=10)


async def test_the_ttl_of_a_job_with_jitter_begins_when_it_is_due(app):
    call = app.report.options(ttl="10m").call()
    await app.schedules.add("report", "every hour", call, jitter="30m")
    await app.clock.freeze(NOON + HOUR)
    await fire_all(app)
    (job,) = await app.jobs()
    assert job.expires_at - job.run_at == timedelta(minutes=10)


async def test_a_backfill_leaves_alone_what_an_older_generation_decided(app):
    await add(app, "every hour")
    await app.clock.freeze(NOON + HOUR)
    await fire_all(app)
    await add(app, "every hour", jitter="1s")
    made = await app.schedules.backfill("report", NOON - HOUR, NOON + HOUR)
    assert len(made) == 1
    assert (await app.get(made[0])).run_at == NOON


async def test_a_backfill_stays_between_the_start_and_the_end_and_in_the_past(app):
    await add(app, "every hour", start=NOON + HOUR, end=NOON + 3 * HOUR)
    await app.clock.freeze(NOON + 2 * HOUR)
    assert len(await app.schedules.backfill("report", NOON - 9 * HOUR, NOON + 9 * HOUR)) == 2
    await app.clock.freeze(NOON + 9 * HOUR)
    assert len(await app.schedules.backfill("report", NOON - 9 * HOUR, NOON + 9 * HOUR)) == 1


@pytest.mark.parametrize(("more", "refused"), [(-1, False), (0, True)])
async def test_a_backfill_makes_at_most_10_000_jobs(app, more, refused):
    await add(app)
    start = NOON - timedelta(minutes=10_001)
    if not refused:
        assert len(await app.schedules.backfill("report", start, NOON + more * MICROSECOND)) == 10_000
        return
    with pytest.raises(BadRequest, match="more than 10,000 ticks of 'report'") as refusal:
        await app.schedules.backfill("report", start, NOON)
    assert refusal.value.field == "end"
    assert await outcome(app) == (0, 0)


@pytest.mark.parametrize(("moved", "kept"), [(-1, 2), (0, 0), (1, 0)])
async def test_the_record_of_ticks_is_kept_for_the_retention(app, moved, kept):
    await add(app, catch_up="none")
    await app.clock.freeze(NOON + timedelta(minutes=2, seconds=30))
    await fire_all(app)
    assert await outcome(app) == (1, 1)
    await app.clock.freeze(NOON + timedelta(days=7, minutes=2, seconds=30) + moved * MICROSECOND)
    await Pruner(app.store, timedelta(days=7)).tick()
    assert len(await app.schedules.ticks("report")) == kept


async def test_more_ticks_than_a_batch_are_forgotten_in_portions(app):
    await add(app, catch_up="none")
    await app.clock.freeze(NOON + timedelta(minutes=1001))
    await fire_all(app)
    pruner = Pruner(app.store, timedelta(0))
    assert await pruner.tick() == 0.0
    assert await pruner.tick() > 0.0
    assert await app.schedules.ticks("report") == []


async def test_the_record_of_ticks_is_never_rewritten(app, database):
    await add(app)
    with pytest.raises(psycopg.Error, match="append-only"):
        await change(database, "update kairos.ticks set reason = 'none'")


async def test_workers_hear_of_new_jobs_and_of_running_ones_that_are_to_stop(app, database):
    call = app.report.options(queue="mail").call()
    await app.schedules.add("report", "every minute", call, overlap="cancel")
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute("listen kairos")
        await connection.execute("listen kairos_cancel")
        await app.clock.move("1m")
        await fire_all(app)
        assert await heard(connection, 1) == {("kairos", "mail")}
        (job,) = await app.jobs()
        await app.store.run(Query("pick_jobs", ("mail", 1, "w", HOUR, False, None, None)))
        await app.clock.move("1m")
        await fire_all(app)
        assert await heard(connection, 2) == {("kairos", "mail"), ("kairos_cancel", str(job.id))}


async def heard(connection, count):
    async with asyncio.timeout(30):
        return {(each.channel, each.payload) async for each in connection.notifies(stop_after=count)}
