"""The engine's own statements, one at a time and by hand: what a worker, a client or a sweeper would send."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import asyncpg

from kairos import operations
from kairos.config import Settings
from kairos.fsm.lifecycle import Status, Verb
from kairos.machine.call import Call, Options
from kairos.shapes.job import Job
from kairos.store.async_store import AsyncStore
from kairos.store.query import Query, Row, drive
from kairos.worker.claim import Claim
from kairos.worker.flusher import Flusher
from kairos.worker.inbox import load_inboxes
from kairos.worker.leases import Leases
from kairos.worker.picker import Picker
from kairos.worker.settle import Settlement, release
from kairos.worker.sweeper import Sweeper

LEASE = timedelta(seconds=30)
DEADLOCKS = "select deadlocks from pg_stat_database where datname = current_database()"
ADVISORY = """select count(*) from pg_locks where locktype = 'advisory'
  and database = (select oid from pg_database where datname = current_database())"""


class Rig:
    """A database, and everything one can do to the jobs in it."""

    def __init__(self, store: AsyncStore) -> None:
        self.store = store

    async def enqueue(self, **options: Any) -> int:
        """One job of an action nobody runs: only its row matters here."""
        return (await self.ask(operations.enqueue(call(**options)))).id

    async def enqueue_many(self, *each: dict[str, Any]) -> list[Job]:
        return await self.ask(operations.enqueue_many([call(**options) for options in each]))

    async def ask(self, verb: Any) -> Any:
        return await drive(verb, self.store.run)

    async def run(self, name: str, *params: Any) -> Sequence[Row]:
        return await self.store.run(Query(name, params))

    async def fetch(self, sql: str, *params: Any) -> list[asyncpg.Record]:
        async with self.store.connection() as connection:
            return await connection.fetch(sql, *params)

    async def value(self, sql: str, *params: Any) -> Any:
        async with self.store.connection() as connection:
            return await connection.fetchval(sql, *params)

    async def row(self, job: int) -> asyncpg.Record:
        return (await self.fetch("select * from kairos.gen_durable where id = $1", job))[0]

    async def status(self, job: int) -> str:
        return str(await self.value("select status from kairos.gen_durable where id = $1", job))

    async def verbs_of(self, job: int) -> list[str]:
        return [row["verb"] for row in await self.run("read_history", job)]

    async def sweep(self) -> None:
        sweeper = Sweeper(self.store, "sweeper")
        while await sweeper.tick() == 0.0:
            pass

    async def let_leases_expire(self, *jobs: int) -> None:
        """As if the lease's time had passed: the clock of the database is nobody's to stop here."""
        await self.fetch(
            "update kairos.gen_durable set lease_expires_at = kairos.now() where id = any ($1)", list(jobs)
        )

    def worker(self, name: str = "w1", queues: Sequence[str] = ("default",)) -> Hand:
        return Hand(self.store, name, queues)


class NoLeases:
    """Nobody renews here."""

    ids: tuple[int, ...] = ()
    room = 1000

    def held_of(self, queue: str) -> int:
        return 0

    def holds(self, *_: Any) -> bool:
        return False

    def hold(self, *_: Any) -> None: ...

    drop = hold


class Hand:
    """A worker without loops and steps: it picks when told and commits what it is told."""

    def __init__(
        self,
        store: AsyncStore,
        name: str,
        queues: Sequence[str] = ("default",),
        *,
        poll: float = 1.0,
        leases: Leases | None = None,
        known: Collection[tuple[str, int]] | None = None,
    ) -> None:
        self.name = name
        self.store = store
        self.claims: list[Claim] = []
        self.finished = self.load = 0
        held: Any = NoLeases() if leases is None else leases
        self.flusher = Flusher(store, name, held, self.claims.append, lambda more: None)
        self.picker = Picker(
            store,
            name,
            dict.fromkeys(queues),
            1000,
            self,  # type: ignore[arg-type]  # what a picker needs of an executor
            held,
            LEASE,
            poll=poll,
            known=known,
        )

    async def pick(self, queue: str = "default", room: int = 100) -> list[Claim]:
        """One pick, as the picker does it: the statement, then the keyed ones under their locks."""
        self.claims.clear()
        await self.picker.pick(queue, room)
        if signalled := [claim for claim in self.claims if claim.signalled]:
            await load_inboxes(self.store, signalled)
        return list(self.claims)

    async def commit(self, *settlements: Settlement) -> int:
        """How many were committed; the others were stale."""
        before = self.flusher.committed
        for settlement in settlements:
            self.flusher.submit(settlement)
        await self.flusher.tick()
        return self.flusher.committed - before

    async def run(self, queue: str = "default") -> list[int]:
        """Pick, finish and pick again until there is nothing; answers the order of the jobs."""
        ran: list[int] = []
        while claims := await self.pick(queue, 1):
            ran += [claim.id for claim in claims]
            await self.commit(*map(done, claims))
        return ran

    # What the picker sees of an executor

    def add(self, claim: Claim) -> None:
        self.claims.append(claim)

    def release_late(self, after: float) -> bool:
        return False

    def settle(self, settlement: Settlement) -> None:
        self.flusher.submit(settlement)


@asynccontextmanager
async def rig(url: str) -> AsyncIterator[Rig]:
    store = AsyncStore(url, Settings(database_url=url, pool_size=20))
    await store.open()
    try:
        yield Rig(store)
    finally:
        await store.close()


def call(*, action: str = "act", queue: str = "default", state: str = "{}", **options: Any) -> Call:
    return Call(action, 1, "run", state, queue, None, Options(**options))


def done(claim: Claim, result: str | None = None) -> Settlement:
    return Settlement(claim, Verb.DONE, Status.DONE, result=result)


def stop(claim: Claim, error: str = "no") -> Settlement:
    return Settlement(claim, Verb.STOP, Status.FAILED, error_code="STOPPED", error=error)


def go(claim: Claim, step: str = "run", *, ahead: bool = False) -> Settlement:
    return Settlement(claim, Verb.NEXT, Status.RUNNABLE, step=step, ahead=ahead)


def replay(claim: Claim, delay: timedelta = timedelta(0), verb: Verb = Verb.REPLAY) -> Settlement:
    return Settlement(claim, verb, Status.RUNNABLE, delay=delay)


def park(claim: Claim, *names: str, timeout: timedelta | None = None, then: str | None = None) -> Settlement:
    return Settlement(claim, Verb.AWAIT, Status.AWAITING_SIGNAL, awaits=names, timeout=timeout, then=then)


def hand_back(claim: Claim) -> Settlement:
    return release(claim, "not now")
