"""Claims jobs: queue by queue, as many as the lanes can use soon, and no more."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta

from kairos.store.pool import AsyncStore, Connection
from kairos.store.query import Query, Row
from kairos.worker.claim import Claim, read_claims
from kairos.worker.executor import Executor
from kairos.worker.leases import Leases
from kairos.worker.logs import Log
from kairos.worker.loop import Loop

log = Log("kairos.worker")

MAX_BATCH = 200
# How far ahead of the lanes to claim: what they will get through in this time, so slow jobs are never hoarded.
_AHEAD_SECONDS = 0.03
_NOW = timedelta(0)


class Picker(Loop):
    """`poll` is the floor under lost hints: no job waits longer than that to be looked at.

    Queues that `seldom` have anything are picked from only where they are known to have something.
    """

    name = "picker"

    def __init__(
        self,
        store: AsyncStore,
        worker: str,
        queues: Mapping[str, int | None],
        concurrency: int,
        executor: Executor,
        leases: Leases,
        lease: timedelta,
        poll: float,
        seldom: Collection[str] = (),
    ) -> None:
        super().__init__()
        self._seldom = frozenset(seldom)
        self._seldom_due: frozenset[str] = frozenset()
        self._store = store
        self._worker = worker
        self._local = dict(queues)
        self._order = list(queues)
        self._concurrency = concurrency
        self._executor = executor
        self._leases = leases
        self._lease = lease
        self._poll = poll
        self._limited: set[str] = set()
        self._key_limited: set[str] = set()
        self._wait = 0.0
        self._in_doubt = False
        self._full = False
        self._look = True
        self._refreshed_at = -math.inf
        self._pace = Pace()
        self.stopped = False

    def failed(self, error: BaseException) -> None:
        # The answer to a pick may have been lost on the way: what it claimed must be given back.
        self._in_doubt = True

    def look(self) -> None:
        """There may be something to pick."""
        self._look = True
        self.wake()

    def settled(self, more: bool) -> None:
        """A commit made room, and perhaps (`more`) put jobs back into their queues."""
        if more or self._full:
            self.look()

    async def tick(self) -> float:
        """Pick from every queue after a hint; without one, first ask in one statement which have anything."""
        if self.stopped:
            return 3600.0
        if self._in_doubt:
            await self._release_unheld()
        self._pace.measure(self._executor.finished)
        self._full = self._total_room() <= 0
        if self._full:
            return self._poll  # the next commit wakes us
        hinted, self._look = self._look, False
        self._wait = self._poll
        if not hinted:
            queues = self._due(await self.refresh())
        else:
            if time.monotonic() - self._refreshed_at >= self._poll:
                await self.refresh()  # however busy: a limit set meanwhile must be known
            queues = [
                queue for queue in self._order if queue not in self._seldom or queue in self._seldom_due
            ]
        self._seldom_due = frozenset()
        for queue in queues:
            room = self._room(queue)
            if room <= 0:
                self._full = True
            elif await self.pick(queue, room):
                self._look = True
                self._order.remove(queue)  # the others have their turn first
                self._order.append(queue)
        if self._look:
            return 0.0
        return min(self._wait, await self._next_due() if hinted else self._nap)

    async def pick(self, queue: str, room: int) -> bool:
        """Claim up to `room` jobs; answers whether there may be more."""
        if queue in self._limited:
            claims, met = await self._pick_limited(queue, room)
        else:
            rows = await self._store.run_hastily(self._query(queue, room, admitted=False))
            claims = list(read_claims(queue, rows))
            candidates = [row for row in rows if not row["claimed"]]
            met = len(rows)
            if candidates:
                claims += await self._pick_keyed(queue, candidates)
        for claim in claims:
            self._leases.hold(claim)
            self._executor.add(claim)
        return met >= room

    async def _pick_keyed(self, queue: str, candidates: Sequence[Row]) -> list[Claim]:
        async with self._store.transaction() as connection:
            return await self._pick_keyed_on(connection, queue, candidates)

    async def _pick_keyed_on(
        self, connection: Connection, queue: str, candidates: Sequence[Row]
    ) -> list[Claim]:
        wanted = sorted({row["partition_key"] for row in candidates})
        # Locked by one statement and looked at by the next, whose snapshot is younger than the lock.
        locked = {row["key"] for row in await self._store.on(connection, Query("lock_keys", (wanted,)))}
        candidates = [row for row in candidates if row["partition_key"] in locked]
        if candidates and queue in self._key_limited:
            candidates = await self._admit_keys(connection, queue, sorted(locked), candidates)
        if not candidates:
            return []
        keys = sorted({row["partition_key"] for row in candidates})
        ids = [row["id"] for row in candidates]
        rows = await self._store.on(
            connection, Query("pick_keyed", (keys, ids, self._worker, self._lease, queue))
        )
        claims = list(read_claims(queue, rows))
        if claims and queue in self._key_limited:
            spent = [claim.key for claim in claims]
            await self._store.on(connection, Query("spend_keys", (spent, queue)))
        return claims

    async def _admit_keys(
        self, connection: Connection, queue: str, keys: list[str], candidates: Sequence[Row]
    ) -> list[Row]:
        """The candidates that the rates of their keys let start now; those of keys over their rate go on hold."""
        rows = await self._store.on(connection, Query("admit_keys", (keys, queue)))
        room = {row["key"]: row["admitted"] for row in rows}
        if late := [key for key, places in room.items() if not places]:
            ids = [row["id"] for row in candidates]
            await self._store.on(connection, Query("hold_keys", (ids, late, queue)))
        admitted = []
        for row in candidates:
            if room.get(row["partition_key"], 0) > 0:
                room[row["partition_key"]] -= 1
                admitted.append(row)
        return admitted

    async def _pick_limited(self, queue: str, room: int) -> tuple[list[Claim], int]:
        """Under the queue's own lock: one picker at a time decides what its limits still admit."""
        async with self._store.transaction() as connection:
            await self._store.on(connection, Query("lock_queue", (queue,)))
            admission = await self._store.on(connection, Query("admit_queue", (queue, room)))
            if not admission or not admission[0]["admitted"]:
                if admission and admission[0]["wait"]:
                    self._wait = min(self._wait, admission[0]["wait"].total_seconds())
                return [], 0
            rows = await self._store.on(
                connection, self._query(queue, admission[0]["admitted"], admitted=True)
            )
            claims = list(read_claims(queue, rows))
            candidates = [row for row in rows if not row["claimed"]]
            if candidates:
                claims += await self._pick_keyed_on(connection, queue, candidates)
            if claims:
                await self._store.on(connection, Query("spend_queue", (queue, len(claims))))
            return claims, room if len(rows) >= admission[0]["admitted"] else 0

    async def refresh(self) -> Sequence[Row]:
        """Learn what the settings of the queues are now, and when each has something."""
        rows = await self._store.run(Query("next_due", (self._order,)))
        self._refreshed_at = time.monotonic()
        self._limited = {row["name"] for row in rows if row["limited"]}
        self._key_limited = {row["name"] for row in rows if row["key_limited"]}
        # Kept until it is picked from: the next hint may come before the next look.
        self._seldom_due = self._seldom.intersection(_names_due(rows))
        return rows

    def _due(self, rows: Sequence[Row]) -> list[str]:
        self._nap = self._until_due(rows)
        return _names_due(rows)

    async def _next_due(self) -> float:
        return self._until_due(await self.refresh())

    def _until_due(self, rows: Sequence[Row]) -> float:
        waits: list[float] = [
            row["wait"].total_seconds()
            for row in rows
            if row["wait"] is not None and not row["paused"] and self._room(row["name"]) > 0
        ]
        # What is due now and was not picked waits for its key, a limit or another picker: a short pause, no spin.
        return max(0.02, min([self._poll, *waits]))

    async def _release_unheld(self) -> None:
        rows = await self._store.run(Query("release_unheld", (self._worker, self._leases.ids)))
        self._in_doubt = False
        if rows:
            log.warning("picks whose answer was lost are given back", jobs=len(rows))

    def _query(self, queue: str, room: int, *, admitted: bool) -> Query:
        return Query("pick_jobs", (queue, room, self._worker, self._lease, admitted))

    def _total_room(self) -> int:
        ahead = self._concurrency + min(MAX_BATCH, self._pace.within(_AHEAD_SECONDS))
        return min(ahead - self._executor.load, MAX_BATCH, self._leases.room)

    def _room(self, queue: str) -> int:
        local = self._local[queue]
        room = self._total_room()
        return room if local is None else min(room, local - self._leases.held_of(queue))


class Pace:
    """How many jobs this worker gets through, as a moving average."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at = clock()
        self._finished = 0
        self._rate = 0.0

    def measure(self, finished: int) -> None:
        now = self._clock()
        elapsed = now - self._at
        if elapsed < 0.005:
            return
        self._rate += 0.3 * ((finished - self._finished) / elapsed - self._rate)
        self._at, self._finished = now, finished

    def within(self, seconds: float) -> int:
        return int(self._rate * seconds)


def _names_due(rows: Sequence[Row]) -> list[str]:
    return [
        row["name"] for row in rows if row["wait"] is not None and row["wait"] <= _NOW and not row["paused"]
    ]
