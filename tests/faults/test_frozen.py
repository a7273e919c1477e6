"""A worker frozen inside one of Kairos's own transactions: the others go on, and its jobs have an heir."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest
from tests.worker.world import ended, fetch, until, verbs

from kairos.store.migration_runner import AsyncRunner, KeepMutex, TryMutex
from kairos.store.query import Query

ENDED = "ended the session of a frozen worker"


async def test_a_worker_frozen_with_the_lock_of_a_limited_queue_does_not_stop_the_queue(crew, app):
    await app.limit("default", concurrency=5)
    victim = await crew.ready()
    crew.arm_freeze("after lock_queue")
    job = await app.action("sleep").enqueue(seconds=0)
    await crew.frozen(victim)
    heir = await crew.ready()
    assert (await ended(app, job.id)).state == "success"
    assert crew.events("end", job=job.id, pid=heir.pid)
    assert ENDED in crew.log  # and Postgres did not end it, which takes five seconds


async def test_a_worker_frozen_with_the_lock_of_a_key_does_not_stop_the_key(crew, app):
    victim = await crew.ready()
    crew.arm_freeze("after try_lock_keys")
    job = await app.action("sleep").options(key="k").enqueue(seconds=0)
    await crew.frozen(victim)
    heir = await crew.ready()
    # Those that free the key wait for the lock too: their commits must not.
    for _ in range(2):
        another = await app.action("sleep").options(key="k").enqueue(seconds=0)
        assert (await ended(app, another.id)).state == "success"
    assert (await ended(app, job.id)).state == "success"
    assert crew.events("end", job=job.id, pid=heir.pid)
    assert ENDED in crew.log


async def test_a_worker_frozen_while_it_opens_a_key_does_not_stop_the_key(crew, app):
    victim = await crew.ready()
    crew.arm_freeze("after wait_for_key_locks")
    jobs = [await app.action("sleep").options(key="k").enqueue(seconds=0.1) for _ in range(2)]
    await crew.frozen(victim)
    await crew.ready()
    for job in jobs:
        assert (await ended(app, job.id)).state == "success"
    assert ENDED in crew.log


async def test_a_worker_frozen_while_it_fires_a_schedule_does_not_stop_the_schedule(crew, app):
    await app.schedules.add("often", "every second", app.action("sleep").call(seconds=0))
    crew.arm_freeze("after fire_ticks")
    victim = await crew.ready()
    await crew.frozen(victim)
    await crew.ready()
    await until(lambda: app.jobs(schedule="often", state="success"), "a tick that another worker fired")
    assert ENDED in crew.log


@pytest.mark.parametrize(("statement", "options"), [("pick_jobs", {}), ("pick_keyed", {"key": "k"})])
async def test_a_worker_frozen_while_a_pick_is_answered_does_not_keep_its_jobs(crew, app, statement, options):
    """Postgres commits a pick once its rows are sent, and these do not fit into the buffers of a socket; a statement
    that is not prepared yet is sent in two halves.
    """
    victim = await crew.ready(poll=30)
    measure = app.action("measure").options(**options)
    # Its statements are prepared by now, and it makes no pick until it hears of these jobs.
    assert (await ended(app, (await measure.enqueue("x")).id)).output == 1
    idle = "select 1 from pg_stat_activity where query like '-- next\\_due%' and state = 'idle'"
    await until(lambda: fetch(app, idle), "a picker that waits")
    crew.arm_freeze(f"during {statement}")
    large = measure.call("x" * 900_000)
    jobs = await app.enqueue_many([large] * 8)
    await crew.frozen(victim)
    await crew.ready()
    for job in jobs:
        assert (await ended(app, job.id)).output == 900_000
    assert ENDED in crew.log


async def test_a_migration_that_is_under_way_is_not_taken_for_a_frozen_worker(app, database):
    migration = AsyncRunner(lambda: app.store.connections.connect_for_migration(database))
    assert await migration.run(TryMutex())
    waits = "select 1 from pg_stat_activity where state_change < clock_timestamp() - interval '1 second'"
    mutex = f"{waits} and state = 'idle in transaction' and datname = current_database()"
    await until(lambda: fetch(app, mutex), "a mutex held for long")
    assert await app.store.run(Query("end_frozen_sessions")) == []
    await migration.run(KeepMutex())
    await migration.close()


async def test_the_jobs_of_a_worker_frozen_inside_its_commit_have_an_heir(crew, app):
    victim = await crew.ready(lease=2)
    crew.arm_freeze("after lock_jobs")
    job = await app.action("park").enqueue()
    await crew.frozen(victim)
    await crew.ready(lease=2)
    assert (await ended(app, job.id)).output == 1
    assert await verbs(app, job.id) == ["reap", "done"]


async def test_the_heir_of_a_step_does_not_wait_for_the_locks_of_its_frozen_transaction(crew, app):
    await fetch(app, "create table account (charged int)")
    await fetch(app, "insert into account values (0)")
    victim = await crew.ready(lease=2)
    crew.arm_freeze("in the block")
    job = await app.action("charge").enqueue()
    await crew.frozen(victim)
    await crew.ready(lease=2)
    assert (await ended(app, job.id)).output == 1
    assert await verbs(app, job.id) == ["reap", "done"]
    assert (await fetch(app, "select charged from account"))[0]["charged"] == 1


async def test_a_session_of_somebody_else_that_locks_an_expired_job_is_left_alone(crew, app, database):
    """Its job is run again only once the keeper has had time to renew the lease that the lock kept it from."""
    for _ in range(2):
        await crew.ready(lease=1.5)
    job = await app.action("wait_for").enqueue(name="go")
    await crew.inside(job.id)
    client = await asyncpg.connect(database)
    async with client.transaction():
        await client.execute("select from kairos.gen_durable where id = $1 for update", job.id)
        expired = (
            "select 1 from kairos.gen_durable where lease_expires_at < kairos.now() - interval '2 seconds'"
        )
        await until(lambda: fetch(app, expired), "a lease long expired")
    await client.close()
    renewed = "select 1 from kairos.gen_durable where lease_expires_at > kairos.now()"
    await until(lambda: fetch(app, renewed), "a renewal")
    (crew.folder / "go").touch()
    assert (await ended(app, job.id)).state == "success"
    assert await verbs(app, job.id) == ["done"]


@pytest.mark.parametrize("mode", ["access exclusive", "share"])
async def test_a_table_lock_longer_than_the_lease_makes_no_job_run_again(crew, app, database, mode):
    for _ in range(2):
        await crew.ready(lease=1.5)
    jobs = [await app.action("wait_for").enqueue(name="go") for _ in range(4)]
    for job in jobs:
        await crew.inside(job.id)
    client = await asyncpg.connect(database)
    async with client.transaction():
        await client.execute(f"lock table kairos.gen_durable in {mode} mode")
        await asyncio.sleep(5)  # longer than the lease, and than a sweeper's look
    await client.close()
    (crew.folder / "go").touch()
    for job in jobs:
        assert (await ended(app, job.id)).state == "success"
        assert await verbs(app, job.id) == ["done"]
