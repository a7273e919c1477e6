"""A worker frozen inside one of Kairos's own transactions: the others go on, and its jobs have an heir."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest
from tests.engine_statements import Hand
from tests.worker.world import ended, fetch, until, verbs

from kairos.store.migration_runner import AsyncRunner, KeepMutex, TryMutex
from kairos.store.query import Query
from kairos.worker.sweeper import Sweeper

ENDED = "ended the session of a frozen worker"


async def test_a_worker_frozen_with_the_lock_of_a_limited_queue_does_not_stop_the_queue(crew, app):
    await app.limit("default", concurrency=5)
    both = [await crew.ready(), await crew.ready()]
    crew.arm_freeze("after lock_queue")
    job = await app.action("sleep").enqueue(seconds=0)
    heir = await crew.other_than_frozen(both)
    assert (await ended(app, job.id)).state == "success"
    assert crew.events("end", job=job.id, pid=heir.pid)
    # And Postgres did not end it, which takes five seconds. The line may come a moment after the lock was free.
    await until(lambda: ENDED in crew.log, "the line about the ended session")


async def test_a_worker_frozen_with_the_lock_of_a_key_does_not_stop_the_key(crew, app):
    both = [await crew.ready(), await crew.ready()]
    crew.arm_freeze("after try_lock_keys")
    job = await app.action("sleep").options(key="k").enqueue(seconds=0)
    heir = await crew.other_than_frozen(both)
    # Those that free the key wait for the lock too: their commits must not.
    for _ in range(2):
        another = await app.action("sleep").options(key="k").enqueue(seconds=0)
        assert (await ended(app, another.id)).state == "success"
    assert (await ended(app, job.id)).state == "success"
    assert crew.events("end", job=job.id, pid=heir.pid)
    await until(lambda: ENDED in crew.log, "the line about the ended session")


async def test_a_worker_frozen_while_it_opens_a_key_does_not_stop_the_key(crew, app):
    both = [await crew.ready(), await crew.ready()]
    crew.arm_freeze("after wait_for_key_locks")
    jobs = [await app.action("sleep").options(key="k").enqueue(seconds=0.1) for _ in range(2)]
    await crew.other_than_frozen(both)
    for job in jobs:
        assert (await ended(app, job.id)).state == "success"
    await until(lambda: ENDED in crew.log, "the line about the ended session")


async def test_a_worker_frozen_while_it_fires_a_schedule_does_not_stop_the_schedule(crew, app):
    both = [await crew.ready(), await crew.ready()]
    crew.arm_freeze("after fire_ticks")
    await app.schedules.add("often", "every second", app.action("sleep").call(seconds=0))
    await crew.other_than_frozen(both)
    await until(lambda: app.jobs(schedule="often", state="success"), "a tick that another worker fired")
    await until(lambda: ENDED in crew.log, "the line about the ended session")


async def test_a_locked_schedule_is_noticed_although_others_fire(app, database):
    """Their worker must find out soon that a frozen one keeps this schedule from firing."""
    for name in ("locked", "free"):
        await app.schedules.add(name, "every hour", app.action("sleep").call(seconds=0))
    client = await asyncpg.connect(database)
    async with client.transaction():
        await client.execute("select from kairos.schedules where name = 'locked' for update")
        due = "update kairos.schedules set next_tick_at = now() where name = 'free'"
        await fetch(app, due)
        late = Sweeper(app.store, "w", interval=3600)
        assert await late.tick() > 1  # nothing is due that is locked
        await client.execute("update kairos.schedules set next_tick_at = now() where name = 'locked'")
    async with client.transaction():
        await client.execute("select from kairos.schedules where name = 'locked' for update")
        await fetch(app, due)
        assert await late.tick() < 0.5
        fired = "select name from kairos.schedules where next_tick_at > now()"
        assert [row["name"] for row in await fetch(app, fired)] == ["free"]
    await client.close()


async def test_while_jobs_are_held_stuck_keys_are_looked_for_several_times_a_second(app):
    """A worker that froze before it opened a key tells nobody of it."""
    for _ in range(2):
        await app.action("sleep").options(key="k").enqueue(seconds=0)
    sweeper = Sweeper(app.store, "w", interval=3600)
    (first,) = await Hand(app.store, "frozen").pick()
    assert first.key == "k"
    await sweeper.tick()
    assert await fetch(app, "select from kairos.gen_durable where held")
    assert await sweeper.tick() < 0.5
    # The cost stays that of one worker: they look in turn.
    await fetch(
        app,
        "insert into kairos.workers (id, host, pid, queues, actions, concurrency, started_at, seen_at)"
        " select 'w' || n, 'h', n, '{}', '{}', 1, now(), now() from generate_series(1, 100) n",
    )
    assert await sweeper.tick() > 10


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
    await until(lambda: ENDED in crew.log, "the line about the ended session")


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
