"""What steps say is kept with their job: all of it, in order, once, and only by who holds the lease."""

from __future__ import annotations

import asyncio
import sys
import threading
from datetime import timedelta
from typing import Any

import asyncpg
import psycopg
import pytest
from tests.captured_logs import capture_logs
from tests.engine_statements import rig
from tests.worker.world import ended, fetch, until, working

from kairos import Await, Backoff, Context, Done, Kairos, Next, Replay, SyncKairos, step
from kairos.errors import BadRequest, NotFound
from kairos.store.async_store import AsyncStore
from kairos.store.query import Query
from kairos.testing import drain
from kairos.worker import log_writer
from kairos.worker.log_writer import LogWriter


@pytest.fixture
def database(kairos_database: str) -> str:
    """A database of each test's own: some tests here change its tables."""
    return kairos_database


async def lines(app: Kairos, job: int) -> list[str]:
    return [row.line for row in await app.logs(job)]


async def test_a_line_is_kept_with_its_level_fields_step_and_attempt(app: Kairos) -> None:
    @app.job
    async def send(ctx: Context, user_id: int) -> None:
        ctx.log.debug("looking")
        ctx.log.info("sending to %s", "Ann", user_id=user_id)
        ctx.log.bind(try_=1).warning("slow")
        ctx.log.error("no answer")
        await ctx.log.acritical("all is lost")
        ctx.log.log(20, "by number")

    async with working(app):
        job = await send.enqueue(7)
        await ended(app, job.id)
        rows = await app.logs(job.id)
    assert [(row.cursor, row.level, row.line, row.fields) for row in rows] == [
        (1, "debug", "looking", None),
        (2, "info", "sending to Ann", {"user_id": 7}),
        (3, "warning", "slow", {"try_": 1}),
        (4, "error", "no answer", None),
        (5, "critical", "all is lost", None),
        (6, "info", "by number", None),
    ]
    assert {(row.step, row.attempt, row.stream) for row in rows} == {("run", 0, None)}


async def test_lines_are_there_before_the_end_can_be_seen(app: Kairos) -> None:
    @app.job
    async def chatty(ctx: Context, count: int) -> None:
        for number in range(count):
            ctx.log.info("line", number=number)

    async with working(app):
        jobs = await app.enqueue_many(chatty.call(count) for count in (0, 1, 2, 50, 300))
        for job, count in zip(jobs, (0, 1, 2, 50, 300), strict=True):
            await ended(app, job.id)
            rows = await app.logs(job.id)
            assert [row.cursor for row in rows] == list(range(1, count + 1))
            assert [row.fields["number"] for row in rows if row.fields] == list(range(count))


async def test_steps_in_threads_tasks_and_a_run_ahead_keep_one_count(app: Kairos) -> None:
    @app.machine("walk")
    class Walk:
        @step(initial=True, to=["second"])
        async def first(self, ctx: Context) -> Any:
            ctx.log.info("one")
            await asyncio.gather(*(asyncio.to_thread(ctx.log.info, "together") for _ in range(20)))
            return Next("second")

        @step(to=["third"])
        def second(self, ctx: Context) -> Any:
            ctx.log.info("two")
            return Next("third")

        @step
        async def third(self, ctx: Context) -> Any:
            ctx.log.info("three")
            return Done()

    async with working(app):
        job = await app.action("walk").enqueue()
        await ended(app, job.id)
        rows = await app.logs(job.id)
        leases = [row["lease"] for row in await fetch(app, "select lease from kairos.logs order by cursor")]
    assert [row.line for row in rows] == ["one", *["together"] * 20, "two", "three"]
    assert [row.cursor for row in rows] == list(range(1, 24))
    assert leases == [*[1] * 21, 2, 3]


async def test_a_step_that_raises_tells_why(app: Kairos) -> None:
    @app.job(retry=Backoff(attempts=2, base=0))
    async def break_down(ctx: Context) -> None:
        ctx.log.info("before")
        raise ValueError("the pipe burst")

    async with working(app):
        job = await break_down.enqueue()
        await ended(app, job.id)
        rows = await app.logs(job.id)
    assert [(row.attempt, row.level, row.line) for row in rows] == [
        (0, "info", "before"),
        (0, "error", "ValueError: the pipe burst"),
        (1, "info", "before"),
        (1, "error", "ValueError: the pipe burst"),
    ]
    assert "in break_down" in rows[1].fields["stack"]


async def test_a_failing_transaction_keeps_its_lines_and_a_good_one_commits_with_them(app: Kairos) -> None:
    @app.job(retry=Backoff(attempts=2, base=0))
    async def pay(ctx: Context) -> None:
        async with ctx.transaction() as connection:
            await connection.execute("create table if not exists paid (n int); insert into paid values (1)")
            # It holds its own row: whoever writes the log must not wait for that.
            await app.on(connection).signal(ctx.id, "note", {})
            ctx.log.info("paying")
            await asyncio.sleep(0.05)
            if ctx.attempt == 0:
                raise ValueError("once more")

    async with working(app):
        job = await pay.enqueue()
        assert (await ended(app, job.id)).state == "success"
        assert await lines(app, job.id) == ["paying", "ValueError: once more", "paying"]
        assert len(await fetch(app, "select * from paid")) == 1


async def test_a_transaction_of_a_thread_commits_with_its_lines(app: Kairos) -> None:
    @app.job
    def pay(ctx: Context) -> None:
        with ctx.transaction() as connection:
            connection.execute("select 1")
            ctx.log.info("paying")
        ctx.log.info("paid")

    async with working(app):
        job = await pay.enqueue()
        assert (await ended(app, job.id)).state == "success"
        assert await lines(app, job.id) == ["paying", "paid"]


async def test_a_drain_keeps_what_steps_say(app: Kairos) -> None:
    @app.machine("wait")
    class Wait:
        @step
        async def wait(self, ctx: Context) -> Any:
            ctx.log.info("here", attempt=ctx.attempt)
            return Done() if ctx.take("go") else Await("go")

    async with app:
        job = await app.action("wait").enqueue()
        await drain(app)
        await app.signal(job.id, "go")
        await drain(app)
        assert await lines(app, job.id) == ["here", "here"]


async def test_redacted_names_are_hidden_wherever_they_stand(app: Kairos) -> None:
    @app.job(redact=["token"])
    async def call(ctx: Context, token: str) -> None:
        ctx.log.bind(token=token).info(
            "calling", headers={"token": token, "accept": "*"}, tries=[{"token": token}]
        )

    async with working(app):
        with capture_logs() as said:
            job = await call.enqueue("s3cret")
            await ended(app, job.id)
        (row,) = await app.logs(job.id)
        stored = await fetch(app, "select l::text as all from kairos.logs l")
    assert row.fields == {
        "token": "[redacted]",
        "headers": {"token": "[redacted]", "accept": "*"},
        "tries": [{"token": "[redacted]"}],
    }
    assert "s3cret" not in str(stored) + str(said)


class Mute:
    def __str__(self) -> str:
        raise RuntimeError("no")


async def test_whatever_is_said_can_be_kept(app: Kairos) -> None:
    loop: list[Any] = []
    loop.append(loop)
    odd = {
        "nul": "a\x00b",
        "half": "\ud800",
        "nan": float("nan"),
        "big": 10**5000,
        "mute": Mute(),
        "set": {1},
        "loop": loop,
    }

    @app.job
    async def say(ctx: Context) -> None:
        ctx.log.info("odd \x00 \ud800", **odd)
        ctx.log.info("x" * 100_000)
        ctx.log.info("ä" * 16 * 1024, wide="ü" * 100_000, more={"a": ["b" * 50_000]})
        ctx.log.info("%d of %d", "not", "numbers")
        ctx.log.info(Mute())
        ctx.log.info("many", **{f"n{n}": "v" * 3000 for n in range(20)})
        ctx.log.info('quo"te\\ and {curly},NULL\nnext line')

    async with working(app):
        job = await say.enqueue()
        assert (await ended(app, job.id)).state == "success"
        rows = await app.logs(job.id)
    assert rows[0].line == "odd \\x00 \\ud800"
    assert (rows[0].fields["nul"], rows[0].fields["nan"], rows[0].fields["set"]) == ("a\\x00b", "nan", [1])
    assert max(len(row.line.encode()) for row in rows) <= 16 * 1024
    assert rows[1].line.endswith("… (cut: it had 100000 bytes)")
    assert rows[2].line.endswith(f"… (cut: it had {32 * 1024} bytes)")
    assert rows[3].line == "%d of %d not numbers"
    assert "cannot be shown" in rows[4].line
    assert rows[5].fields["…"].endswith("more fields were too long to keep")
    assert rows[6].line == 'quo"te\\ and {curly},NULL\nnext line'


async def test_pages_go_on_where_the_last_one_ended(app: Kairos) -> None:
    @app.job
    async def count(ctx: Context, lines: int) -> None:
        for number in range(lines):
            ctx.log.info(str(number + 1))

    async with app:
        jobs = await app.enqueue_many(count.call(n) for n in (0, 1, 10, 11))
        await drain(app)
        for job, total in zip(jobs, (0, 1, 10, 11), strict=True):
            pages = [await app.logs(job.id, limit=10), await app.logs(job.id, after=10, limit=10)]
            assert [[row.cursor for row in page] for page in pages] == [
                list(range(1, min(total, 10) + 1)),
                list(range(11, total + 1)),
            ]
        with pytest.raises(NotFound):
            await app.logs(10**9)
        for wrong in ({"after": -1}, {"limit": 0}, {"limit": 10_001}, {"after": True}):
            with pytest.raises(BadRequest):
                await app.logs(jobs[0].id, **wrong)


async def test_lines_outlive_the_end_and_leave_only_with_their_job(app: Kairos) -> None:
    @app.job
    async def say(ctx: Context) -> None:
        ctx.log.info("kept")

    async with app:
        first, second = await app.enqueue_many([say.call(), say.call()])
        await drain(app)
        for change in (
            "update kairos.logs set line = 'other'",
            "delete from kairos.logs",
            "truncate kairos.logs",
        ):
            with pytest.raises(asyncpg.PostgresError, match="append-only"):
                await fetch(app, change)
        await fetch(app, "delete from kairos.gen_durable where id = $1", first.id)
        assert await fetch(app, "select * from kairos.logs where job_id = $1", first.id) == []
        assert await lines(app, second.id) == ["kept"]
        await app.store.run(Query("purge_jobs", (timedelta(0), 100, None)))
        assert await fetch(app, "select * from kairos.logs") == []


# What a step prints


async def test_what_a_captured_step_prints_is_kept_and_what_others_print_is_not(
    app: Kairos, capsys: pytest.CaptureFixture[str]
) -> None:
    together = threading.Barrier(2)

    @app.job(capture=True)
    async def loud(ctx: Context) -> None:
        print("out", end="")
        print(" and out")
        print("err", file=sys.stderr)
        ctx.log.info("logged")
        await asyncio.sleep(0)
        sys.stdout.write("no newline")

    @app.job(capture=True)
    def threaded(name: str) -> None:
        together.wait(10)
        for number in range(100):
            print(name, number)

    @app.job
    async def plain(ctx: Context) -> None:
        print("passes through")

    async with working(app):
        jobs = await app.enqueue_many([loud.call(), threaded.call("a"), threaded.call("b"), plain.call()])
        for job in jobs:
            assert (await ended(app, job.id)).state == "success"
        print("the program's own")
        said = [[(row.stream, row.line) for row in await app.logs(job.id)] for job in jobs]
    assert said == [
        [
            ("stdout", "out and out"),
            ("stderr", "err"),
            (None, "logged"),
            ("stdout", "no newline"),
        ],
        [("stdout", f"a {number}") for number in range(100)],
        [("stdout", f"b {number}") for number in range(100)],
        [],
    ]
    printed = capsys.readouterr().out.splitlines()
    assert printed == ["passes through", "the program's own"]


async def test_a_step_of_a_machine_may_be_captured_alone(
    app: Kairos, capsys: pytest.CaptureFixture[str]
) -> None:
    @app.machine("two")
    class Two:
        @step(initial=True, capture=True)
        async def first(self, ctx: Context) -> Any:
            print("kept")
            return Next("second")

        @step
        async def second(self, ctx: Context) -> Any:
            print("not kept")
            return Done()

    with capture_logs():
        async with working(app):
            job = await app.action("two").enqueue()
            await ended(app, job.id)
            assert await lines(app, job.id) == ["kept"]
    assert capsys.readouterr().out == "not kept\n"


# Who may write


async def test_a_zombie_writes_nothing(app: Kairos) -> None:
    """A thread goes on after its timeout; by then the job is another attempt's, or over."""
    begun, go, said = threading.Event(), threading.Event(), threading.Event()

    @app.job(timeout=0.2, retry=lambda error, ctx: Replay())
    def slow(ctx: Context) -> str:
        ctx.log.info("mine", by=ctx.attempt)
        if ctx.attempt == 0:
            begun.set()
            go.wait(20)
            ctx.log.info("too late")
            said.set()
        return "done"

    with capture_logs() as told:
        async with working(app) as worker:
            job = await slow.enqueue()
            assert (await ended(app, job.id)).output == "done"
            go.set()
            await asyncio.to_thread(said.wait, 20)
            await until(lambda: worker.log_writer.refused)
            rows = await app.logs(job.id)
            assert worker.log_writer.refused == 1
    assert [(row.line.split(":")[0], row.attempt) for row in rows] == [
        ("mine", 0),
        ("StepTimeout", 0),
        ("mine", 1),
    ]
    assert {
        "event": "log lines of a lost lease refused",
        "log_level": "warning",
        "job": job.id,
        "lines": 1,
    } in told


async def test_no_line_is_lost_or_doubled_when_the_answer_to_a_write_is(
    app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every second write is committed, but its answer never comes back."""
    real, calls = AsyncStore.on, [0]

    async def cut(store: Any, connection: Any, query: Any) -> Any:
        rows = await real(store, connection, query)
        if query.name == "write_logs":
            calls[0] += 1
            if calls[0] % 2:
                raise ConnectionResetError("cut")
        return rows

    monkeypatch.setattr(AsyncStore, "on", cut)

    @app.job
    async def say(ctx: Context) -> None:
        for number in range(100):
            ctx.log.info(str(number))
            await asyncio.sleep(0.002)

    async with working(app):
        job = await say.enqueue()
        assert (await ended(app, job.id)).state == "success"
        assert await lines(app, job.id) == [str(number) for number in range(100)]
    assert calls[0] >= 2


async def test_lines_wait_while_the_database_is_away_and_the_outcome_with_them(
    app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, away = AsyncStore.on, asyncio.Event()
    back = asyncio.Event()

    async def broken(store: Any, connection: Any, query: Any) -> Any:
        if query.name == "write_logs" and not back.is_set():
            away.set()
            raise ConnectionResetError("away")
        return await real(store, connection, query)

    monkeypatch.setattr(AsyncStore, "on", broken)

    @app.job
    async def say(ctx: Context) -> None:
        ctx.log.info("kept")

    async with working(app):
        job = await say.enqueue()
        await away.wait()
        assert (await app.get(job.id)).state == "running"
        back.set()
        assert (await ended(app, job.id)).state == "success"
        assert await lines(app, job.id) == ["kept"]


async def test_too_many_lines_are_dropped_and_one_says_how_many(
    app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_writer, "MAX_LINES", 100)

    @app.job
    async def flood(ctx: Context) -> None:
        for number in range(250):  # no await in between: nobody can write meanwhile
            ctx.log.info(str(number))
        await asyncio.sleep(0.2)
        ctx.log.info("after")

    async with working(app) as worker:
        job = await flood.enqueue()
        await ended(app, job.id)
        said = await lines(app, job.id)
        assert worker.log_writer.dropped == 150
    assert said == [
        *map(str, range(100)),
        "150 lines were dropped: they came faster than they could be written.",
        "after",
    ]


async def test_what_postgres_will_not_take_holds_up_neither_its_job_nor_others(app: Kairos) -> None:
    @app.job
    async def say(ctx: Context, what: str) -> None:
        ctx.log.info(what)
        ctx.log.info("second")

    async with working(app):
        await fetch(app, "alter table kairos.logs add constraint taste check (line <> 'bad')")
        jobs = await app.enqueue_many(say.call(what) for what in ("good", "bad", "fine"))
        for job in jobs:
            assert (await ended(app, job.id)).state == "success"
        assert [await lines(app, job.id) for job in jobs] == [
            ["good", "second"],
            ["2 lines were dropped: Postgres refused them."],
            ["fine", "second"],
        ]


async def test_a_worker_that_leaves_has_written_everything(app: Kairos) -> None:
    @app.job
    async def say(ctx: Context) -> None:
        for number in range(50):
            ctx.log.info(str(number))
        await asyncio.sleep(60)

    async with app:
        async with app.worker(poll=0.1, grace=0) as worker:
            job = await say.enqueue()
            await until(lambda: worker.executor.running)
        assert await lines(app, job.id) == [str(number) for number in range(50)]
        assert (await app.get(job.id)).state == "pending"


async def test_a_line_renews_a_lease_that_the_keeper_passed_over(app: Kairos) -> None:
    async with app, rig(app.store.url) as rigged:
        job = await rigged.enqueue()
        (claim,) = await rigged.worker("w").pick()
        writer = LogWriter(app.store, "w", timedelta(seconds=100))

        async def left_after(setting: str) -> Any:
            await rigged.fetch(
                f"update kairos.gen_durable set lease_expires_at = kairos.now() + interval '{setting}'"
            )
            writer.add(job, claim.lease, "run", 0, "info", "x", None, None)
            await writer.flush()
            return await rigged.value(
                "select extract(epoch from lease_expires_at - kairos.now()) from kairos.gen_durable"
            )

        assert 90 < await left_after("40 s") <= 100  # past its half
        assert 50 < await left_after("60 s") <= 60
        assert await left_after("-1 s") < 0  # the reaper's by now


def test_lines_are_read_without_an_event_loop(database: str) -> None:
    with SyncKairos(database) as app:

        @app.job
        def nothing() -> None: ...

        job = nothing.enqueue()
        assert app.logs(job.id) == []
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(
                "insert into kairos.logs (job_id, cursor, lease, said, at, level, line, step, attempt)"
                " values (%s, 1, 1, 1, now(), 'info', 'hello', 'run', 0)",
                [job.id],
            )
        assert [row.line for row in app.logs(job.id)] == ["hello"]
