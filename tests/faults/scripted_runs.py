"""Runs of a few steps, each written out by hand and recorded as a chaos run is: the checker judges both alike.

A random run may miss a fault of a microsecond. Each of these walks straight into one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
from chaos import audit
from chaos.journal import Journal
from chaos.mutants import Mutant
from chaos.record import Record
from chaos.rules.steps import SLACK
from tests.engine_statements import Hand, Rig, call, done, park
from tests.shared_database import unguarded

from kairos import Kairos, operations
from kairos.api.feed_watermark import FeedWatermark
from kairos.testing import Clock
from kairos.worker.claim import Claim
from kairos.worker.ticker import Ticker

# A crash of Postgres forgets a claim that had not reached the disk, and the trail of it.
_FORGET = """update kairos.gen_durable set status = 'runnable', lease = 0, locked_by = null, lease_expires_at = null,
  started_at = null, picked_at = null"""
_REWIND = "update kairos.schedules set cursor_at = cursor_at - interval '1 minute', next_tick_at = cursor_at"


class Script:
    """The database, the journal, and workers that do one thing at a time."""

    def __init__(self, app: Kairos, journal: Journal, mutant: Mutant | None) -> None:
        self.app = app
        self.journal = journal
        self.mutant = mutant
        self.rig = Rig(app.store)
        self.hands: dict[str, Hand] = {}
        self._asked = 0

    async def accept(self, action: str = "walk", **options: Any) -> int:
        """A job, acknowledged."""
        self._asked += 1
        token = f"ask-{self._asked}"
        self.journal.write("ask", token=token)
        job = await self.rig.ask(
            operations.enqueue(call(action=action, state='{"n": 0}', tags=(token,), **options))
        )
        self.journal.write("ack", job=job.id, token=token)
        return int(job.id)

    async def pick(self, worker: str) -> list[Claim]:
        """What the worker claims, and begins at once."""
        if worker not in self.hands:
            self.hands[worker] = self.rig.worker(worker)
            self.journal.write("ready", worker=worker, pid=len(self.hands))
        claims = await self.hands[worker].pick()
        for claim in claims:
            self._write("begin", worker, claim)
        return claims

    async def finish(self, worker: str, *claims: Claim, result: str | None = None) -> None:
        await asyncio.sleep(4 * SLACK)  # so that its end is surely after what was committed before it
        for claim in claims:
            self._write("end", worker, claim)
        await self.hands[worker].commit(*(done(claim, result) for claim in claims))

    async def lose(self, job: int) -> None:
        """Its lease expires, and a sweeper looks."""
        await self.rig.let_leases_expire(job)
        await self.rig.sweep()

    async def send(self, job: int, number: int) -> None:
        await self.rig.ask(operations.signal(job, "message", {"number": number}))
        self.journal.write("sent", job=job, number=number)

    def _write(self, event: str, worker: str, claim: Claim) -> None:
        pid = list(self.hands).index(worker) + 1
        self.journal.write(event, job=claim.id, lease=claim.lease, n=0, pid=pid)


async def zombie(s: Script) -> None:
    job = await s.accept()
    first = await s.pick("w1")
    await s.lose(job)
    second = await s.pick("w2")
    await s.finish("w1", *first)
    await s.finish("w2", *second)


async def lease_given_twice(s: Script) -> None:
    await s.accept()
    first = await s.pick("w1")
    await s.rig.fetch(unguarded(_FORGET))
    await s.rig.fetch("delete from audit where new = 'executing'")
    second = await s.pick("w2")
    assert [claim.lease for claim in first] == [claim.lease for claim in second]
    await s.finish("w1", *first)
    await s.finish("w2", *second)


async def signal_while_it_runs(s: Script) -> None:
    job = await s.accept("inbox")
    (claim,) = await s.pick("w1")
    await s.send(job, 7)
    await s.hands["w1"].commit(park(claim, "message"))
    await s.finish("w1", *await s.pick("w1"), result="[7]")


async def second_signal_while_the_first_is_taken(s: Script) -> None:
    job = await s.accept("inbox")
    await s.send(job, 1)
    (claim,) = await s.pick("w1")
    await s.send(job, 2)
    parked = park(claim, "message")
    parked.consumed = [signal.id for signal in claim.inbox]
    await s.hands["w1"].commit(parked)
    await s.finish("w1", *await s.pick("w1"), result="[1, 2]")


async def tick_decided_twice(s: Script) -> None:
    """A ticker that looked before the other one committed, and fires after it."""
    clock = await Clock(s.app).install()
    start = (await clock.freeze()).replace(second=0, microsecond=0)
    await clock.freeze(start)
    await s.app.schedules.add("minutely", "every minute", s.app.action("tick").call())
    await clock.move("1m")
    await Ticker(s.app.store).fire()
    await s.rig.fetch(_REWIND)
    await Ticker(s.app.store).fire()
    await s.finish("w1", *await s.pick("w1"))


async def last_microsecond_of_a_ttl(s: Script) -> None:
    clock = await Clock(s.app).install()
    job = await s.app.get(await s.accept(ttl="10s"))
    await clock.freeze(job.expires_at - job.expires_at.resolution)
    await s.rig.run("expire_jobs", 10, None, [])
    await s.finish("w1", *await s.pick("w1"))


async def instant_at_which_a_ttl_closes(s: Script) -> None:
    clock = await Clock(s.app).install()
    job = await s.app.get(await s.accept(ttl="10s"))
    await clock.freeze(job.expires_at)
    await s.finish("w1", *await s.pick("w1"))
    await s.rig.sweep()


async def change_that_becomes_visible_late(s: Script) -> None:
    slow, quick = await s.accept(), await s.accept()
    mark, cursor = FeedWatermark(), 0

    async def read() -> None:
        nonlocal cursor
        (row,) = await s.rig.run("read_feed_watermark")
        mark.add(row["last"], frozenset(row["writers"]))
        for change in await s.rig.run("read_feed", cursor, mark.decided, 100):
            s.journal.write("received", reader="r", cursor=change["id"])
            cursor = change["id"]

    await s.app.cancel(await s.accept())
    await read()
    async with s.app.store.connection() as connection:
        async with connection.transaction():
            await s.app.on(connection).cancel(slow)
            await s.app.cancel(quick)
            await read()
        await read()
    await s.app.cancel(await s.accept())
    await read()


async def hour_before_it_is_due(s: Script) -> None:
    job = await s.accept(delay=600)
    claims = await s.pick("w1")
    await s.finish("w1", *claims)
    if not claims:
        await s.app.cancel(job)


async def poison_again_and_again(s: Script) -> None:
    job = await s.accept("poison", max_reaps=2)
    for _ in range(6):
        for claim in await s.pick("w1"):
            await s.rig.run("mark_alone", job, claim.lease, "w1", True)
            await s.lose(job)


async def reaper_beside_a_healthy_worker(s: Script) -> None:
    await s.accept()
    claims = await s.pick("w1")
    await s.rig.run("reap_jobs", 10, None, "reaper", None, [])
    await s.finish("w1", *claims)
    await s.finish("w1", *await s.pick("w1"))


Scenario = Callable[[Script], Awaitable[None]]


@asynccontextmanager
async def scripted(url: str, folder: Path, mutant: Mutant | None) -> AsyncIterator[Script]:
    """A script on an empty database, with the statements of the mutant."""
    folder.mkdir()
    app = Kairos(url)

    @app.job
    async def tick() -> None: ...

    connection = await asyncpg.connect(url)
    try:
        await audit.install(connection)
        for statement in mutant.schema if mutant else ():
            await connection.execute(statement)
    finally:
        await connection.close()
    async with app:
        if mutant is not None:
            app.store.sql = mutant.apply(dict(app.store.sql))
        yield Script(app, Journal(folder / "journal"), mutant)


async def judge(url: str, script: Script, **known: Any) -> Record:
    connection = await asyncpg.connect(url)
    try:
        return await audit.read(connection, script.journal, steps=1, **known)
    finally:
        await connection.close()
