"""Rows that another session has locked: every other outcome is committed, and theirs as soon as they are free."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest
from tests.worker.world import ended, fetch, reaches, until, verbs, working

from kairos import Await, Context, Done, Kairos, step
from kairos.alarms.thresholds import Thresholds
from kairos.worker.alarm_loop import run_checks


@pytest.fixture
def app(database: str) -> Kairos:
    return Kairos(database)


@asynccontextmanager
async def client(
    database: str, *statements: str, name: str = "a client"
) -> AsyncIterator[asyncpg.Connection]:
    """A session of somebody else that is in the middle of a transaction."""
    connection = await asyncpg.connect(database, server_settings={"application_name": name})
    try:
        async with connection.transaction():
            for statement in statements:
                await connection.execute(statement)
            yield connection
    finally:
        await connection.close()


def lock(job: int) -> str:
    return f"select from kairos.gen_durable where id = {job} for update"


async def test_one_locked_row_keeps_no_other_outcome_from_being_committed(app, database):
    go = asyncio.Event()

    @app.job
    async def work() -> None:
        await go.wait()

    async with working(app, concurrency=50) as worker:
        jobs = await app.enqueue_many([work.call() for _ in range(50)])
        await until(lambda: len(worker.executor.running) == 50)
        async with client(database, lock(jobs[20].id)):
            go.set()
            for job in jobs[:20] + jobs[21:]:
                assert (await ended(app, job.id)).state == "success"
            # And what comes later is not held up either.
            assert (await ended(app, (await work.enqueue()).id)).state == "success"
            assert (await app.get(jobs[20].id)).state == "running"
        assert (await ended(app, jobs[20].id)).state == "success"
        assert await verbs(app, jobs[20].id) == ["done"]
        assert worker.flusher.stale == 0


async def test_a_frozen_client_of_kairos_does_not_keep_an_outcome_from_being_committed(app, database):
    """As when a service freezes in a request that changes the job."""
    go = asyncio.Event()

    @app.job
    async def work() -> None:
        await go.wait()

    async with working(app, lease=3600):  # the reaper would find it too, once the lease expired
        job = await work.enqueue()
        await reaches(app, job.id, "running")
        with pytest.raises(asyncpg.InterfaceError, match="connection is closed"):
            async with client(database, lock(job.id), name="kairos"):
                go.set()
                assert (await ended(app, job.id)).state == "success"


async def test_a_locked_parent_holds_up_its_own_children_and_nobody_elses(app, database):
    go = asyncio.Event()

    @app.job
    async def child() -> int:
        await go.wait()
        return 1

    @app.machine("parent")
    class Parent:
        @step
        async def work(self, ctx: Context) -> Any:
            if (reply := ctx.take("done")) is not None:
                return Done(reply.payload["output"])
            if not ctx.state.get("spawned"):
                ctx.spawn(child.call(), reply="done")
            return Await("done", state={"spawned": True})

    async with working(app) as worker:
        parents = [await Parent.enqueue() for _ in range(2)]
        await until(lambda: len(worker.executor.running) == 2)
        for parent in parents:
            await reaches(app, parent.id, "waiting")
        async with client(database, lock(parents[0].id)):
            go.set()
            assert (await ended(app, parents[1].id)).output == 1
            assert (await app.get(parents[0].id)).state == "waiting"
        assert (await ended(app, parents[0].id)).output == 1


async def test_a_child_whose_unique_key_somebody_is_taking_holds_up_its_parent_alone(app, database):
    go = asyncio.Event()

    @app.job
    async def child() -> None: ...

    @app.job
    async def parent(ctx: Context, unique: str) -> None:
        await go.wait()
        ctx.spawn(child.options(unique=unique, if_taken="return").call())

    async with working(app) as worker:
        taken = await child.options(unique="taken", delay=3600).enqueue()
        jobs = [await parent.enqueue(unique=key) for key in ("free", "taken")]
        await until(lambda: len(worker.executor.running) == 2)
        steal = f"update kairos.gen_durable set unique_key = null where id = {taken.id}"
        async with client(database, steal):
            go.set()
            assert (await ended(app, jobs[0].id)).state == "success"
            assert (await app.get(jobs[1].id)).state == "running"
        assert (await ended(app, jobs[1].id)).state == "success"


@pytest.mark.parametrize("said", [[], ["it logs"]], ids=["silent", "with log lines"])
async def test_an_outcome_that_stays_blocked_is_an_alarm_that_names_the_session(
    app, database, monkeypatch, said
):
    monkeypatch.setattr("kairos.worker.blocked_outcomes.BLOCKED_FOR_LONG", 0.0)
    go = asyncio.Event()

    @app.job
    async def work(ctx: Context) -> None:
        await go.wait()
        for line in said:
            ctx.log.info(line)

    thresholds = Thresholds.of("commits_blocked=0s")

    async def alarms() -> list[Any]:
        worker.heartbeat.wake()
        await run_checks(app.store, thresholds, slow=False)
        return [each for each in await app.alarms() if each.kind == "commits_blocked"]

    async with working(app) as worker:
        job = await work.enqueue()
        await reaches(app, job.id, "running")
        async with client(database, lock(job.id)) as session:
            go.set()
            (alarm,) = await until(alarms, "the alarm")
            assert alarm.subject == worker.name
            named = f"job {job.id} is locked by pid {session.get_server_pid()} (a client, idle in transaction since"
            assert named in alarm.cause
        await ended(app, job.id)

        async def cleared() -> bool:
            return not await alarms()

        await until(cleared, "the end of the alarm")


async def test_a_worker_whose_commits_get_no_answer_stops_claiming(app, database, monkeypatch):
    monkeypatch.setattr("kairos.worker.flusher.STALLED_AFTER", 0.05)

    @app.job
    async def work() -> None: ...

    async with working(app, concurrency=2) as worker:
        await ended(app, (await work.enqueue()).id)
        # A table lock that lets a pick through, which only changes jobs, and no commit, which also writes history.
        async with client(database, "lock table kairos.history in share mode"):
            await app.enqueue_many([work.call() for _ in range(4000)])
            await until(lambda: worker.flusher.stalled and worker.picker.is_full)
            claimed = "select count(*) from kairos.gen_durable where status = 'executing'"
            hoard = (await fetch(app, claimed))[0]["count"]
            for _ in range(5):
                worker.picker.pick_soon()
                await worker.picker.at_rest()
            assert (await fetch(app, claimed))[0]["count"] == hoard < 3000
        done = "select from kairos.gen_durable where status <> 'done' limit 1"

        async def all_done() -> bool:
            return not await fetch(app, done)

        await until(all_done)
