"""The writer of lines when much is said at once: it neither hangs, nor loses, nor lets one job hold up another."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import timedelta
from typing import Any

import asyncpg
import pytest
from tests.captured_logs import capture_logs
from tests.engine_statements import Rig, rig
from tests.worker.world import ended, fetch, until, working

from kairos import Context, Kairos
from kairos.logger import Logger
from kairos.store.async_store import AsyncStore
from kairos.worker import log_writer
from kairos.worker.claim import Claim
from kairos.worker.log_writer import LogWriter
from kairos.worker.stdout_capture import capture_output


@pytest.fixture
def database(kairos_database: str) -> str:
    """A database of each test's own: some tests here change its tables."""
    return kairos_database


@pytest.fixture
async def world(database: str) -> AsyncIterator[Rig]:
    async with rig(database) as world:
        yield world


def writer(world: Rig) -> LogWriter:
    return LogWriter(world.store, "w1", timedelta(seconds=100))


async def picked(world: Rig, jobs: int = 1) -> list[Claim]:
    for _ in range(jobs):
        await world.enqueue()
    return await world.worker("w1").pick()


def say(log_writer: LogWriter, claim: Claim, *lines: str) -> None:
    for line in lines:
        log_writer.add(claim.id, claim.lease, "run", 0, "info", line, None, None)


async def kept(world: Rig, claim: Claim) -> list[str]:
    return [row["line"] for row in await world.run("read_logs", claim.id, 0, 10_000)]


# What the worker itself logs


async def test_a_captured_step_whose_lines_were_dropped_does_not_hang(
    world: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the worker logs about that must not come back as a line of the step: it would wait for itself."""
    monkeypatch.setattr(log_writer, "MAX_LINES", 1)
    (claim,) = await picked(world)
    hand, made_room, room = writer(world), threading.Event(), threading.Event()

    def step() -> None:
        with capture_output(lambda stream, line: say(hand, claim, line)):
            print("kept")
            print("dropped")
            room.set()
            made_room.wait(20)
            print("kept too")

    thread = threading.Thread(target=step, daemon=True)
    thread.start()
    await asyncio.to_thread(room.wait, 20)
    monkeypatch.setattr(log_writer, "MAX_LINES", 100)
    made_room.set()
    await asyncio.to_thread(thread.join, 5)
    assert not thread.is_alive()
    await hand.flush()
    assert await kept(world, claim) == [
        "kept",
        "1 lines were dropped: they came faster than they could be written.",
        "kept too",
    ]


def test_what_the_worker_logs_is_not_what_the_step_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    with capture_output(lambda stream, line: heard.append(line)):
        monkeypatch.setattr(logging.getLogger("kairos"), "handlers", [logging.StreamHandler(sys.stderr)])
        Logger("kairos.worker").error("the worker's own")
        print("the step's")
    assert heard == ["the step's"]


async def test_drops_are_told_at_once_and_then_not_in_a_storm(
    world: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_writer, "MAX_LINES", 1)
    (claim,) = await picked(world)
    hand = writer(world)
    with capture_logs() as told:
        for _ in range(10):
            say(hand, claim, "kept", "dropped", "dropped")
            while hand.unwritten_lines():
                await hand.flush()
        first = [each["lines"] for each in told if each["event"] == "log lines were dropped"]
        await hand.drained()
    assert first == [2]
    assert [each["lines"] for each in told if each["event"] == "log lines were dropped"] == [2, 18]


# One job and the others


async def test_a_job_that_talks_much_does_not_hold_up_the_outcome_of_another(world: Rig) -> None:
    chatty, brief = await picked(world, 2)
    hand, committed = writer(world), list[str]()
    say(hand, chatty, *map(str, range(9000)))
    say(hand, brief, "one line")
    hand.commit_after_lines(brief.id, brief.lease, lambda _: committed.append("outcome"))
    await hand.flush()
    assert committed == ["outcome"]
    assert await kept(world, brief) == ["one line"]


async def test_jobs_that_all_talk_much_take_turns(world: Rig) -> None:
    claims = await picked(world, 6)
    hand = writer(world)
    for claim in claims:
        say(hand, claim, *map(str, range(3000)))
    await hand.flush()
    await hand.flush()
    counts = [len(await kept(world, claim)) for claim in claims]
    assert min(counts) >= 500
    while hand.unwritten_lines():
        await hand.flush()
    for claim in claims:
        assert await kept(world, claim) == list(map(str, range(3000)))


async def test_jobs_whose_rows_are_in_use_do_not_keep_the_batch_for_themselves(
    world: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = await picked(world, 6)
    hand = writer(world)
    for claim in claims[:5]:
        say(hand, claim, *map(str, range(450)))
    say(hand, claims[5], "mine")
    async with world.store.transaction() as other:
        held = [claim.id for claim in claims[:5]]
        await other.execute("select from kairos.gen_durable where id = any ($1) for update", held)
        await hand.flush()
        await hand.flush()
        assert await kept(world, claims[5]) == ["mine"]


# Nothing is lost on the way


async def test_lines_found_busy_by_the_commit_of_a_transaction_are_kept(app: Kairos) -> None:
    @app.job
    async def pay(ctx: Context) -> None:
        held, release = asyncio.Event(), asyncio.Event()

        async def hold() -> None:
            """Another has the job's row until the commit waits for it."""
            async with app.store.transaction() as other:
                await other.execute("select from kairos.gen_durable where id = $1 for update", ctx.id)
                held.set()
                await release.wait()
                await until(lambda: waiting_for_a_lock(app))

        holding.append(asyncio.create_task(hold()))
        await held.wait()
        ctx.log.info("kept")
        async with ctx.transaction() as connection:
            await connection.execute("select 1")
        release.set()

    holding: list[asyncio.Task[None]] = []
    async with working(app):
        job = await pay.enqueue()
        assert (await ended(app, job.id)).state == "success"
        await asyncio.gather(*holding)
        assert [row.line for row in await app.logs(job.id)] == ["kept"]


async def waiting_for_a_lock(app: Kairos) -> bool:
    return bool(
        await fetch(
            app,
            "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        )
    )


async def test_lines_lent_to_a_commit_are_forgotten_only_where_it_wrote_them(world: Rig) -> None:
    (claim,) = await picked(world)
    hand = writer(world)
    say(hand, claim, "kept")
    reserved = await hand.reserve(claim.id)
    hand.release(claim.id, reserved, [{"id": claim.id, "lease": claim.lease, "answer": "busy"}])
    assert (hand.unwritten_lines(), hand.written) == (1, 0)
    reserved = await hand.reserve(claim.id)
    hand.release(claim.id, reserved, await world.store.run(hand.query(reserved)))
    assert (hand.unwritten_lines(), hand.written) == (0, 1)


async def test_lines_of_two_threads_are_numbered_in_the_order_in_which_they_wait(
    world: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    (claim,) = await picked(world)
    drawn, overtaken = threading.Event(), threading.Event()

    class Slow:
        """The first to draw a number is held up until another has been through, where that can happen."""

        def __init__(self) -> None:
            self.numbers = iter(range(1, 100))

        def __next__(self) -> int:
            number = next(self.numbers)
            if number == 1:
                drawn.set()
                overtaken.wait(0.5)
            return number

    monkeypatch.setattr(log_writer, "count", lambda first: Slow())
    hand = writer(world)
    first = threading.Thread(target=say, args=(hand, claim, "first"))
    first.start()
    await asyncio.to_thread(drawn.wait, 20)
    second = threading.Thread(target=lambda: (say(hand, claim, "second"), overtaken.set()))
    second.start()
    for thread in (first, second):
        await asyncio.to_thread(thread.join, 20)
    assert [(line.number, line.line) for line in await hand.reserve(claim.id)] == [
        (1, "first"),
        (2, "second"),
    ]


# What Postgres refuses, and what it only puts off


async def test_a_refusal_costs_the_lines_that_were_sent_and_not_those_said_since(
    world: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    (claim,) = await picked(world)
    hand, real, sent = writer(world), AsyncStore.on, [0]

    async def meanwhile(store: Any, connection: Any, query: Any) -> Any:
        try:
            return await real(store, connection, query)
        finally:
            if query.name == "write_logs":
                sent[0] += 1
                if sent[0] == 3:
                    say(hand, claim, "said since")

    async with world.store.connection() as connection:
        await connection.execute("alter table kairos.logs add constraint taste check (line <> 'bad')")
    monkeypatch.setattr(AsyncStore, "on", meanwhile)
    say(hand, claim, "bad", "beside it")
    for _ in range(4):
        await hand.flush()
    assert await kept(world, claim) == ["2 lines were dropped: Postgres refused them.", "said since"]
    assert (hand.dropped, hand.unwritten_lines(), hand.unwritten_bytes) == (2, 0, 0)


async def test_where_not_even_the_note_is_taken_the_outcome_goes_on(world: Rig) -> None:
    (claim,) = await picked(world)
    hand, committed = writer(world), list[str]()
    async with world.store.connection() as connection:
        await connection.execute("alter table kairos.logs add constraint taste check (false) not valid")
    say(hand, claim, "a", "b")
    hand.commit_after_lines(claim.id, claim.lease, lambda _: committed.append("outcome"))
    for _ in range(6):
        await hand.flush()
    assert (committed, hand.dropped, hand.unwritten_lines(), hand.unwritten_bytes) == (["outcome"], 2, 0, 0)


async def test_an_error_that_passes_costs_no_line(world: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    (claim,) = await picked(world)
    hand, real, over = writer(world), AsyncStore.on, asyncio.Event()

    async def deadlocked(store: Any, connection: Any, query: Any) -> Any:
        if query.name == "write_logs" and not over.is_set():
            raise asyncpg.DeadlockDetectedError("deadlock detected")
        return await real(store, connection, query)

    monkeypatch.setattr(AsyncStore, "on", deadlocked)
    say(hand, claim, "kept")
    for _ in range(4):
        with pytest.raises(asyncpg.DeadlockDetectedError):
            await hand.flush()
    over.set()
    await hand.flush()
    assert await kept(world, claim) == ["kept"]


# What a step may say


class MuteText(str):
    def __str__(self) -> str:
        raise RuntimeError("no")


class MuteMapping(Mapping[str, Any]):
    def __getitem__(self, name: str) -> Any:
        raise RuntimeError("no")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no")

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize("redact", [[], ["token"]], ids=["open", "redacted"])
async def test_loops_depths_and_mute_values_cost_no_step(app: Kairos, redact: list[str]) -> None:
    loop: dict[str, Any] = {"token": "s3cret"}
    loop.update({f"again{number}": loop for number in range(20)})
    deep: dict[str, Any] = {"token": "s3cret"}
    for _ in range(5000):
        deep = {"inner": deep}

    @app.job(redact=redact)
    async def odd(ctx: Context) -> None:
        ctx.log.bind(bound=loop).info("loop", loop=loop, list=[loop])
        ctx.log.info("deep", deep=deep)
        ctx.log.info("mute", text=MuteText("x"), mapping=MuteMapping(), inner={"text": MuteText("x"), "n": 1})

    async with working(app):
        job = await odd.enqueue()
        assert (await ended(app, job.id)).state == "success"
        first, second, third = await app.logs(job.id)
        stored = await fetch(app, "select l::text as all from kairos.logs l")
    assert (first.line, second.line, third.line) == ("loop", "deep", "mute")
    assert third.fields is not None
    assert "cannot be shown" in third.fields["text"]
    assert "cannot be shown" in third.fields["mapping"]
    assert third.fields["inner"]["n"] == 1
    if redact:
        assert "s3cret" not in str(stored)
