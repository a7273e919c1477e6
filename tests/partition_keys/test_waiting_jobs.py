"""Who waits behind a key is out of the way of everyone else, however it got there."""

from __future__ import annotations

import pytest
from tests.engine_statements import done
from tests.schedule_ticks.conftest import app

from kairos.worker.sweeper import Sweeper
from kairos.worker.ticker import Ticker

__all__ = ["app"]

KEY = {"key": "hot"}
OPEN = "select count(*) from kairos.gen_durable where status = 'runnable' and not held"


async def singly(jobs, n):
    for _ in range(n):
        await jobs.enqueue(**KEY)


async def in_batches(jobs, n):
    for _ in range(n // 10):
        await jobs.enqueue_many(*[KEY] * 10)


@pytest.mark.parametrize("enqueue", [singly, in_batches])
async def test_only_the_head_of_a_line_is_met_by_the_pick(jobs, enqueue):
    await enqueue(jobs, 60)
    assert await jobs.value(OPEN) == 1


async def test_a_retried_job_waits_behind_its_key_like_an_enqueued_one(jobs):
    old = await jobs.enqueue(tags=["kept"], priority=3, **KEY)
    await jobs.run("cancel_jobs", [old], None, None)
    await jobs.enqueue(priority=3, **KEY)
    (retried,) = await jobs.run("retry_jobs", [old], "somebody", None, None, None, None)
    copy = await jobs.fetch(
        "select held, tags, priority, retry_of, created_by, cancel_requested_at from kairos.gen_durable where id = $1",
        retried["made"],
    )
    assert [tuple(row) for row in copy] == [(True, ["kept"], 3, old, "somebody", None)]
    assert await jobs.value(OPEN) == 1


async def test_the_ticks_and_triggers_of_a_schedule_wait_behind_its_key_like_enqueued_jobs(app):
    await app.schedules.add("report", "every minute", app.report.call(), overlap="queue", catch_up="all")
    await app.clock.move("5m")
    await Ticker(app.store).fire()
    await app.schedules.trigger("report")
    async with app.store.connection() as connection:
        assert await connection.fetchval(OPEN) == 1
        assert await connection.fetchval("select count(*) from kairos.gen_durable where held") == 5


@pytest.mark.parametrize("enqueue", [singly, in_batches])
async def test_a_job_behind_a_hot_key_is_claimed_by_the_first_pick(jobs, enqueue):
    await enqueue(jobs, 60)
    other = await jobs.enqueue(key="cool")
    plain = await jobs.enqueue()
    assert {other, plain} < {claim.id for claim in await jobs.worker().pick(room=10)}


async def test_jobs_of_a_key_that_fall_due_together_are_met_once(jobs):
    """Work for later is not on hold: the pick that meets it puts it there, all it can see at a time."""
    at = await jobs.value("select now() + interval '1 hour'")
    await jobs.enqueue_many(*[{"run_at": at, **KEY}] * 100)
    await jobs.enqueue(run_at=at, priority=1)
    await jobs.fetch("update kairos.gen_durable set eligible_at = now()")
    worker = jobs.worker()
    picks = 0
    while all(claim.key for claim in await worker.pick(room=20)):
        picks += 1
    assert picks == 5
    assert await jobs.value(OPEN) == 0


@pytest.mark.parametrize("ends", ["expired", "cancelled"])
async def test_one_sweep_lets_the_next_in_when_the_head_ends_unrun(jobs, ends):
    head, following = [job.id for job in await jobs.enqueue_many({"ttl": "1h", **KEY}, KEY)]
    if ends == "expired":
        await jobs.fetch("update kairos.gen_durable set expires_at = now() where id = $1", head)
    else:
        await jobs.run("cancel_jobs", [head], None, None)
    await Sweeper(jobs.store, "sweeper").tick()
    assert await jobs.status(head) == ends
    assert await jobs.worker().run() == [following]


async def test_the_sweep_goes_round_all_keys_on_hold(jobs):
    """Some keys at a time: a look goes on where the one before stopped, and then begins again."""
    keys = [f"k{n:04}" for n in range(650)]
    await jobs.enqueue_many(*({"key": key} for key in keys))
    await jobs.fetch("update kairos.gen_durable set held = true")
    sweeper = Sweeper(jobs.store, "sweeper")
    opened = []
    for _ in range(8):
        await sweeper.tick()
        opened.append(await jobs.value(OPEN))
    assert 100 <= opened[0] <= 200
    assert opened[-2:] == [650, 650]
    worker = jobs.worker()
    while claims := await worker.pick(room=200):
        await worker.commit(*map(done, claims))
    assert await jobs.value("select count(*) from kairos.gen_durable where status = 'done'") == 650
