"""Retention: a settled job leaves when its time is over, counted, with its history and its signals."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.boundaries.frozen_time import SECOND, US, Moment, around
from tests.engine_statements import done, park, stop

from kairos.worker.pruner import Pruner

WEEK = timedelta(days=7)


async def purge(moment: Moment, retention: timedelta = WEEK, limit: int = 100) -> int:
    return (await moment.run("purge_jobs", retention, limit, None))[0]["jobs"]


async def settled(moment: Moment) -> int:
    job = await moment.enqueue()
    hand = moment.worker()
    await hand.commit(*map(done, await hand.pick()))
    return job


@around
async def test_a_settled_job_is_kept_until_its_retention_is_over(moment: Moment, offset: timedelta) -> None:
    job = await settled(moment)
    await moment.at(moment.start + WEEK + offset)
    assert await purge(moment) == (offset >= 0 * US)
    assert bool(await moment.fetch("select from kairos.gen_durable where id = $1", job)) == (offset < 0 * US)


async def test_retention_counts_from_the_end_of_a_job(moment: Moment) -> None:
    job = await moment.enqueue()
    await moment.at(moment.start + WEEK)
    await moment.app.cancel(job)
    assert await purge(moment) == 0
    await moment.at(moment.start + 2 * WEEK)
    assert await purge(moment) == 1


async def test_what_is_not_settled_is_never_purged(moment: Moment) -> None:
    hand = moment.worker()
    waiting, running = await moment.enqueue(), await moment.enqueue()
    claims = {claim.id: claim for claim in await hand.pick()}
    await hand.commit(park(claims[waiting], "paid"))
    await moment.enqueue(delay=60)
    await moment.enqueue(run_at=moment.start - 100 * WEEK)
    await moment.at(moment.start + 100 * WEEK)
    assert await purge(moment) == 0
    assert await moment.value("select count(*) from kairos.gen_durable") == 4
    assert await moment.status(running) == "executing"


async def test_history_and_signals_go_with_their_job_and_the_ledger_balances(moment: Moment) -> None:
    hand = moment.worker()
    jobs = [await moment.enqueue() for _ in range(4)]
    await moment.app.signal(jobs[0], "note")
    claims = await hand.pick()
    await hand.commit(done(claims[0]), done(claims[1]), stop(claims[2]))
    await moment.at(moment.start + WEEK)
    assert await purge(moment) == 3
    ledger = "select status::text, jobs from kairos.purged order by 1"
    assert await moment.fetch(ledger) == [("done", 2), ("failed", 1)]
    assert await moment.value("select count(*) from kairos.history") == 0
    assert await moment.value("select count(*) from kairos.signals") == 0
    assert await moment.value("select count(*) from kairos.gen_durable") == 1
    await hand.commit(done(claims[3]))
    await moment.at(moment.start + 2 * WEEK)
    assert await purge(moment) == 1
    assert await moment.fetch(ledger) == [("done", 3), ("failed", 1)]


@around
async def test_the_rate_of_a_key_is_forgotten_once_it_is_paid_off(moment: Moment, offset: timedelta) -> None:
    await moment.app.limit("default", key_rate=(2, 1))
    await moment.enqueue(key="a")
    await (await moment.informed()).pick()
    await moment.at(moment.start + SECOND / 2 + offset)
    await Pruner(moment.store, WEEK).tick()
    assert await moment.value("select count(*) from kairos.key_rates") == (offset < 0 * US)


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4])
async def test_the_pruner_goes_on_until_nothing_is_left(
    moment: Moment, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kairos.worker.pruner.BATCH", 2)
    for _ in range(limit):
        await settled(moment)
    pruner, ticks = Pruner(moment.store, 0 * SECOND), 1
    while await pruner.tick() == 0.0:
        ticks += 1
    assert ticks == 1 + limit // 2
    assert await moment.value("select count(*) from kairos.gen_durable") == 0


async def test_full_batches_begin_where_the_last_one_ended_and_a_job_that_was_locked_is_purged_afterwards(
    moment: Moment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kairos.worker.pruner.BATCH", 2)
    jobs = []
    for turn in range(5, 0, -1):
        await moment.at(moment.start - turn * SECOND)
        jobs.append(await settled(moment))
    await moment.at(moment.start)
    pruner = Pruner(moment.store, 0 * SECOND)
    async with moment.store.transaction() as locked:
        await locked.execute("select from kairos.gen_durable where id = $1 for update", jobs[0])
        assert (await pruner.tick(), await left(moment)) == (0.0, [jobs[0], *jobs[3:]])
    assert (await pruner.tick(), await left(moment)) == (0.0, jobs[:1])
    assert await pruner.tick() > 0.0
    assert (await pruner.tick() > 0.0, await left(moment)) == (True, [])


async def left(moment: Moment) -> list[int]:
    return [row["id"] for row in await moment.fetch("select id from kairos.gen_durable order by id")]


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4])
async def test_no_more_are_purged_at_once_than_asked_and_the_oldest_first(moment: Moment, limit: int) -> None:
    jobs = []
    for turn in (3, 2, 1):
        await moment.at(moment.start - turn * SECOND)
        jobs.append(await settled(moment))
    assert await purge(moment, 0 * SECOND, limit) == min(limit, 3)
    left = await moment.fetch("select id from kairos.gen_durable order by id")
    assert [row["id"] for row in left] == jobs[limit:]
