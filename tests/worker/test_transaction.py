"""`ctx.transaction()`: what a step writes and its outcome are one commit, or none."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import Any

import pytest
from tests.worker.world import ended, fetch, reaches, until, verbs, working

from kairos import Await, Backoff, Context, Done, Next, Replay, Stop, step
from kairos.testing import drain


@pytest.fixture
def database(kairos_database: str) -> str:
    """A database of each test's own: some tests here change its tables."""
    return kairos_database


async def ledger(app: Any) -> list[str]:
    return [row["note"] for row in await fetch(app, "select note from ledger order by id")]


async def make_ledger(app: Any) -> None:
    await fetch(app, "create table ledger (id bigserial, note text not null)")
    await fetch(app, "create table once (note text primary key deferrable initially deferred)")


WRITE = "insert into ledger (note) values ($1)"
WRITE_SYNC = "insert into ledger (note) values (%s)"


async def test_a_step_writes_in_the_loop_and_in_a_thread_and_its_writes_come_with_its_outcome(app):
    @app.job
    async def in_loop(ctx: Context) -> str:
        async with ctx.transaction() as connection:
            await connection.execute(WRITE, "loop")
            assert await ledger(app) == []  # nobody else sees it before the outcome is there
        assert await ledger(app) == []
        return "done"

    @app.job
    def in_thread(ctx: Context) -> str:
        with ctx.transaction() as connection:
            connection.execute(WRITE_SYNC, ["thread"])
        with ctx.transaction() as connection:
            connection.execute(WRITE_SYNC, ["again"])
        return "done"

    async with app:
        await make_ledger(app)
        for job in (await in_loop.enqueue(), await in_thread.enqueue()):
            await drain(app)
            assert (await app.get(job.id)).output == "done"
        assert await ledger(app) == ["loop", "thread", "again"]


async def test_every_outcome_but_a_failure_brings_the_writes_with_it(app):
    outcomes: dict[str, Any] = {
        "next": Next("other"),
        "await": Await("x"),
        "replay": Replay(delay=60),
        "done": Done(),
        "stop": Stop("no"),
        "nonsense": 7,
        "unstorable": Done(float("nan")),
    }

    @app.machine("writer")
    class Writer:
        @step(initial=True, to=["other"])
        async def first(self, ctx: Context) -> Any:
            async with ctx.transaction() as connection:
                await connection.execute(WRITE, ctx.state["case"])
            return outcomes[ctx.state["case"]]

        @step(to=[])
        async def other(self, ctx: Context) -> Any:
            return Done()

    async with app:
        await make_ledger(app)
        jobs = {case: await Writer.enqueue(case=case) for case in outcomes}
        await drain(app)
        states = {case: (await app.get(job.id)).state for case, job in jobs.items()}
        assert sorted(await ledger(app)) == ["await", "done", "next", "replay"]
    assert {case for case, state in states.items() if state == "failed"} == {"stop", "nonsense", "unstorable"}


async def test_a_step_that_fails_writes_nothing_however_often_it_is_tried(app):
    @app.job(retry=Backoff(attempts=3, base=0))
    async def fragile(ctx: Context) -> int:
        async with ctx.transaction() as connection:
            await connection.execute(WRITE, str(ctx.attempt))
        if ctx.attempt < 2:
            raise ValueError("after the write")
        return ctx.attempt

    async with app:
        await make_ledger(app)
        job = await fragile.enqueue()
        await drain(app)
        assert (await app.get(job.id)).output == 2
        assert await ledger(app) == ["2"]


async def test_an_error_that_leaves_a_block_undoes_that_block_also_when_the_step_catches_it(app):
    @app.job
    async def careful(ctx: Context) -> str:
        async with ctx.transaction() as connection:
            await connection.execute(WRITE, "kept")
        try:
            async with ctx.transaction() as connection:
                await connection.execute(WRITE, "undone")
                await connection.execute("select 1 / 0")
        except Exception as error:
            return type(error).__name__
        return "?"

    async with app:
        await make_ledger(app)
        job = await careful.enqueue()
        await drain(app)
        assert (await app.get(job.id)).output == "DivisionByZeroError"
        assert await ledger(app) == ["kept"]


async def test_what_postgres_refuses_at_the_commit_is_the_error_of_the_step(app):
    @app.job(retry=Backoff(attempts=2, base=0))
    async def twice(ctx: Context) -> int:
        async with ctx.transaction() as connection:
            for _ in range(2 - ctx.attempt):
                await connection.execute("insert into once values ('same')")
        return ctx.attempt

    @app.job
    def in_thread(ctx: Context) -> None:
        with ctx.transaction() as connection:
            connection.execute("insert into once values ('a'), ('a')")

    async with app:
        await make_ledger(app)
        jobs = [await twice.enqueue(), await in_thread.enqueue()]
        await drain(app)
        found = [await app.get(job.id) for job in jobs]
        assert (found[0].output, await verbs(app, jobs[0].id)) == (1, ["fail", "retry", "done"])
        assert (found[1].state, found[1].error_code) == ("failed", "UniqueViolation")


async def test_a_step_that_lost_its_lease_writes_nothing(app):
    @app.job
    async def zombie(ctx: Context) -> str:
        async with ctx.transaction() as connection:
            await connection.execute(WRITE, f"attempt {ctx.attempt}")
        if ctx.attempt == 0:
            await fetch(
                app, "update kairos.gen_durable set lease_expires_at = kairos.now() where id = $1", ctx.id
            )
            await until(lambda: again.is_set())
        else:
            again.set()
        return "done"

    again = asyncio.Event()
    async with working(app) as worker:
        await make_ledger(app)
        job = await ended(app, (await zombie.enqueue()).id)
        await until(lambda: not worker.executor.running)
        assert (job.state, job.attempt, job.reaps) == ("success", 1, 1)
        assert await ledger(app) == ["attempt 1"]
        assert await verbs(app, job.id) == ["reap", "done"]


async def test_a_step_that_leaves_its_connection_in_use_fails_and_is_not_run_for_ever(app):
    @app.job
    async def untidy(ctx: Context) -> str:
        async with ctx.transaction() as connection:
            await connection.execute(WRITE, "untidy")
        left.append(asyncio.ensure_future(connection.fetch("select pg_sleep(5)")))
        await asyncio.sleep(0.05)
        return "done"

    left: list[Any] = []
    async with app:
        await make_ledger(app)
        job = await untidy.enqueue()
        assert await drain(app, limit=3) == 1
        job = await app.get(job.id)
        assert (job.state, job.error_code, await ledger(app)) == ("failed", "STEP_ERROR", [])
        await asyncio.gather(*left, return_exceptions=True)


async def test_a_cancelled_step_writes_nothing(app):
    @app.job
    async def patient(ctx: Context) -> None:
        async with ctx.transaction() as connection:
            await connection.execute(WRITE, "half")
        await asyncio.sleep(60)

    async with working(app):
        await make_ledger(app)
        job = await patient.enqueue()
        await reaches(app, job.id, "running")
        await app.cancel(job.id)
        assert (await ended(app, job.id)).state == "cancelled"
        assert await ledger(app) == []


async def test_a_late_step_in_a_thread_can_write_nothing_any_more(app):
    begun, go_on, told = threading.Event(), threading.Event(), []

    @app.job(timeout=0.5)
    def late(ctx: Context) -> None:
        try:
            with ctx.transaction() as connection:
                connection.execute(WRITE_SYNC, ["too late"])
                begun.set()
                go_on.wait(30)
                connection.execute(WRITE_SYNC, ["much too late"])
        except Exception as error:
            told.append(type(error).__name__)
        try:
            with ctx.transaction():
                pass
        except Exception as error:
            told.append(type(error).__name__)

    async with working(app):
        await make_ledger(app)
        job = await ended(app, (await late.enqueue()).id)
        assert begun.is_set()
        assert job.error_code == "STEP_TIMEOUT"
        go_on.set()
        await until(lambda: len(told) == 2)
        assert told == ["OperationalError", "RuntimeError"]
        assert await ledger(app) == []


@pytest.mark.parametrize(
    ("where", "end"),
    [
        ("in the step", ("success", ["2"], ["release", "done"])),  # no failure of the step's own
        ("instead of the commit", ("success", ["2"], ["release", "done"])),
        ("after the commit", ("success", ["1"], ["done"])),
    ],
)
async def test_a_connection_cut_under_a_step_leaves_its_writes_and_its_outcome_together(app, where, end):
    @app.job
    async def writer(ctx: Context) -> str:
        async with ctx.transaction() as connection:
            await connection.execute(WRITE, f"{ctx.lease}")
            if where == "in the step" and ctx.lease == 1:
                pid = await connection.fetchval("select pg_backend_pid()")
                await fetch(app, "select pg_terminate_backend($1, 5000)", pid)
        return "done"

    async with working(app) as worker:
        await make_ledger(app)
        commit, cuts = worker.flusher.commit_own, iter([1])

        async def cut(settlement: Any, unit: Any) -> None:
            made = unit.commit

            async def commit_and_cut(settle: Any) -> None:
                await (made(settle) if where == "after the commit" else unit.close())
                raise ConnectionResetError("cut")

            if where != "in the step" and next(cuts, None):
                unit.commit = commit_and_cut
            await commit(settlement, unit)

        worker.flusher.commit_own = cut
        job = await ended(app, (await writer.enqueue()).id)
        assert (job.state, await ledger(app), await verbs(app, job.id)) == end


@pytest.mark.parametrize("where", ["loop", "thread"])
async def test_a_server_that_was_demoted_under_a_step_hands_its_job_back_and_does_not_fail_it(app, where):
    """A failover may leave the connection open, on a server that takes no writes any more."""
    runs = []
    demote = "set transaction read only"
    write = "insert into ledger (job) values (1)"

    @app.job
    async def loop(ctx: Context) -> int:
        runs.append(ctx.attempt)
        async with ctx.transaction() as connection:
            await connection.execute(demote if len(runs) == 1 else "select 1")
            await connection.execute(write)
        return len(runs)

    @app.job
    def thread(ctx: Context) -> int:
        runs.append(ctx.attempt)
        with ctx.transaction() as connection:
            connection.execute(demote if len(runs) == 1 else "select 1")
            connection.execute(write)
        return len(runs)

    async with working(app):
        await fetch(app, "create table ledger (job bigint not null)")
        job = await app.action(where).enqueue()
        assert (await ended(app, job.id)).state == "success"
        assert runs == [0, 0]
        assert await verbs(app, job.id) == ["release", "done"]
        assert len(await fetch(app, "select from ledger")) == 1


async def test_two_tasks_of_a_step_cannot_be_in_its_transaction_at_once(app):
    @app.job
    async def parallel(ctx: Context) -> list[str]:
        inside = asyncio.Event()

        async def write(note: str) -> None:
            async with ctx.transaction() as connection:
                inside.set()
                await connection.execute(WRITE, note)
                await until(lambda: second.done())

        async def fail() -> None:
            await inside.wait()
            async with ctx.transaction():
                raise ValueError("undoes what the other wrote")

        second = asyncio.ensure_future(fail())
        told = await asyncio.gather(write("kept"), second, return_exceptions=True)
        async with ctx.transaction() as connection:  # one after the other they may
            await connection.execute(WRITE, "later")
        return [type(each).__name__ for each in told]

    async with app:
        await make_ledger(app)
        job = await parallel.enqueue()
        await drain(app)
        assert (await app.get(job.id)).output == ["NoneType", "StepError"]
        assert await ledger(app) == ["kept", "later"]


async def test_two_threads_of_a_step_cannot_be_in_its_transaction_at_once(app):
    @app.job
    def parallel(ctx: Context) -> str:
        told: list[str] = []

        def second() -> None:
            try:
                with ctx.transaction():
                    told.append("inside")
            except Exception as error:
                told.append(type(error).__name__)

        with ctx.transaction() as connection:
            connection.execute(WRITE_SYNC, ["kept"])
            thread = threading.Thread(target=second)
            thread.start()
            thread.join()
        return told[0]

    async with app:
        await make_ledger(app)
        job = await parallel.enqueue()
        await drain(app)
        assert (await app.get(job.id)).output == "StepError"
        assert await ledger(app) == ["kept"]


async def test_times_count_from_the_commit_and_not_from_the_begin_of_the_transaction(app):
    returned: dict[int, Any] = {}

    @app.machine("writer")
    class Writer:
        @step
        async def first(self, ctx: Context) -> Any:
            async with ctx.transaction() as connection:
                await connection.execute(WRITE, "x")
            returned[ctx.id] = (await fetch(app, "select clock_timestamp() as now"))[0]["now"]
            return {"done": Done(), "replay": Replay(delay=60), "await": Await("x", timeout=60)}[
                ctx.state["case"]
            ]

    async with app:
        await make_ledger(app)
        jobs = {case: (await Writer.enqueue(case=case)).id for case in ("done", "replay", "await")}
        await drain(app)
        found = await fetch(app, "select * from kairos.gen_durable")
        rows = {row["id"]: row for row in found}
        minute = timedelta(minutes=1)
        assert rows[jobs["done"]]["completed_at"] > returned[jobs["done"]]
        assert rows[jobs["replay"]]["eligible_at"] > returned[jobs["replay"]] + minute
        assert rows[jobs["await"]]["await_until"] > returned[jobs["await"]] + minute
        for job in jobs.values():
            assert all(row.at > returned[job] for row in await app.history(job))
