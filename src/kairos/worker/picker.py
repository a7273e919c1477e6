"""Claim due jobs, queue by queue: as many as the lanes start soon, and no more."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta

from kairos.fsm.lifecycle import Verb
from kairos.logger import Logger
from kairos.store.async_store import AsyncStore
from kairos.store.driver_errors import PASSING, REFUSED
from kairos.store.query import Query, Row
from kairos.worker.claim import Claim, read_claims
from kairos.worker.executor import Executor
from kairos.worker.frozen_sessions import FrozenSessions
from kairos.worker.keyed_picks import KeyedPicks
from kairos.worker.known_actions import KnownActions
from kairos.worker.leases import Leases
from kairos.worker.limited_picks import LimitedPicks
from kairos.worker.loop import Loop
from kairos.worker.lost_claims import LostClaims
from kairos.worker.pace import Pace
from kairos.worker.pick_bounds import HORIZON, PickBounds
from kairos.worker.pick_room import room_for_claims
from kairos.worker.poison_jobs import isolate_first_job
from kairos.worker.settle import release

log = Logger("kairos.worker")

# The next batch is claimed while the lanes run the last one if there is room for this many jobs.
_LEAST_BATCH = 100
# How long a claim may wait for a lane before it is released, so that a worker with a free lane runs the job.
_UNBEGUN_SECONDS = 1.0
# How many picks of one queue may follow each other before the other queues have their turn.
_IN_A_ROW = 4
# The pause while due jobs cannot be claimed; it doubles after each tick whose picks found no job, up to `poll`.
_SHORT_PAUSE = 0.02
_NOW = timedelta(0)


class Picker(Loop):
    """The loop that claims due jobs and gives them to the lanes.

    A job whose notification was lost is found within `poll` seconds. `seldom` queues are picked from only when
    `next_due` reports something due.
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
        backlog: Callable[[], int] = lambda: 0,
        stalled: Callable[[], bool] = lambda: False,
        known: Collection[tuple[str, int]] | None = None,
        met_unknown: Callable[[str, int], None] = lambda action, version: None,
        avoided: Callable[[str | None], str | None] = lambda queue: None,
    ) -> None:
        """`known`, `met_unknown` and `avoided` are those of `KnownActions`.

        While `stalled()`, or with too large a `backlog()` of uncommitted outcomes, nothing is claimed.
        """
        super().__init__()
        self._known = KnownActions(known, self._note_unknown, avoided)
        self._met_unknown = met_unknown
        self._bounds: dict[str, PickBounds] = {}
        self._backlog = backlog
        self._stalled = stalled
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
        self._frozen = FrozenSessions(store)
        self._keyed = KeyedPicks(store, worker, lease, self._frozen)
        self._limited = LimitedPicks(
            store,
            self._keyed,
            self._known,
            self._frozen,
            self._admitted_query,
            self._note_met,
            self.note_locked,
            leases.held_of,
            poll,
        )
        self._lost = LostClaims(store, worker, leases, lease)
        self._wait = 0.0
        self._full = False
        self._pick_again = True
        self._refreshed_at = -math.inf
        self._pace = Pace()
        # Queues in which Postgres refused a pick, and how many of their next picks take one job at a time.
        self._singly: dict[str, int] = {}
        # How many jobs the picks of this tick found, and how many ticks in a row found none although some were due.
        self._met = self._met_none = 0
        self.stopped = False

    @property
    def is_full(self) -> bool:
        """Whether the last tick found no room, in the worker or in one of its queues; the next commit then wakes it."""
        return self._full

    @property
    def queues_at_limit(self) -> Collection[str]:
        """The queues whose limit admitted no job lately."""
        return self._limited.queues_at_limit

    @property
    def bounds(self) -> dict[str, PickBounds]:
        """The pick bounds of each queue that had a full pick; they are in use only while `seconds_left` is positive."""
        return self._bounds

    @property
    def pace(self) -> Pace:
        """How many jobs a second this worker finishes."""
        return self._pace

    def failed(self, error: BaseException) -> None:
        self.doubt_claims()

    def doubt_claims(self) -> None:
        """Look for lost claims before the next pick: the answer to a pick or a commit may have been lost."""
        self._lost.doubt()

    def pick_soon(self) -> None:
        """Pick at the next tick, without a wait before it: there may be due jobs."""
        self._pick_again = True
        self.wake()

    def settled(self, more: bool) -> None:
        """React to a commit: pick soon if it made room that was missing, or (`more`) may have made jobs due."""
        if more or self._full or self.queues_at_limit:
            self.pick_soon()

    async def tick(self) -> float:
        if self.stopped:
            return 3600.0
        if await self._lost.release():
            self._pick_again = True
        return min(await self._pick_from_queues(), self._lost.seconds_left)

    async def _pick_from_queues(self) -> float:
        """Pick from every queue after a hint; without one, first read in one statement which queues have due jobs."""
        self._pace.measure(self._executor.finished)
        if self._executor.release_late(_UNBEGUN_SECONDS):
            self._pace.reset()
        self._full = self._total_room() <= 0
        if self._full:
            return min(self._poll, _UNBEGUN_SECONDS)  # the next commit wakes us
        hinted, self._pick_again = self._pick_again, False
        self._wait = self._poll
        self._met = 0
        if not hinted:
            queues = self._due(await self.refresh())
        else:
            if time.monotonic() - self._refreshed_at >= self._poll:
                await self.refresh()  # to learn of limits that were set meanwhile
            queues = [
                queue for queue in self._order if queue not in self._seldom or queue in self._seldom_due
            ]
        self._seldom_due = frozenset()
        was_due = False
        for queue in queues:
            room = self._room(queue)
            if room <= 0:
                self._full = True
            elif self._limited.is_at_limit(queue):
                self._wait = min(self._wait, self._limited.seconds_left(queue))
            elif await self.pick_in_a_row(queue, room):
                self._pick_again = True
                self._order.remove(queue)  # the others have their turn first
                self._order.append(queue)
            elif not hinted and queue not in self.queues_at_limit:
                was_due = True
        if self._met:
            self._met_none = 0
        elif was_due:
            self._frozen.met_lock()  # other sessions have locked what is due
            self._met_none += 1
        if (again := await self._frozen.end(busy=self._met > 0)) is not None:
            self._wait = min(self._wait, again)
        if self._pick_again:
            return 0.0
        if bounds := [each.seconds_left for each in self._bounds.values() if each.seconds_left > 0]:
            return min(self._wait, *bounds)  # reading the next due time costs as much as a full pick
        return min(self._wait, await self._next_due() if hinted else self._until_next_due)

    async def pick(self, queue: str, room: int) -> bool:
        """Claim up to `room` jobs; return whether there may be more."""
        singly = self._singly.get(queue, 0)
        try:
            claims, met = await self._claim(queue, 1 if singly else room)
        except PASSING:
            raise
        except REFUSED as error:
            return await self._handle_refused_pick(queue, room, error)
        if singly:
            self._singly[queue] = singly - 1
        self._hand_over(claims)
        return met >= (1 if singly else room)

    async def _handle_refused_pick(self, queue: str, room: int, error: BaseException) -> bool:
        """Handle a pick that Postgres refused: pick one job at a time, and isolate the one whose pick is refused."""
        log.error("a pick was refused", queue=queue, error=str(error))
        if not self._singly.get(queue):
            self._singly[queue] = room
            return True
        settlement = await isolate_first_job(self._store, self._worker, queue, self._lease)
        if settlement is None:
            return False  # at the next poll
        log.error("a job is taken out of its queue", job=settlement.claim.id, verb=settlement.verb)
        self._leases.hold(settlement.claim)
        self._executor.settle(settlement)
        return settlement.verb is not Verb.RELEASE

    async def _claim(self, queue: str, room: int) -> tuple[list[Claim], int]:
        """Pick once; return the claims, and how many jobs were found, including those that wait for their key."""
        if queue not in self._limited.queues:
            rows = await self._fetch(queue, room)
            return await self._read(queue, rows), len(rows)
        claims, met = await self._limited.pick(queue, room)
        if queue in self.queues_at_limit:
            self._wait = min(self._wait, self._limited.seconds_left(queue))
        return claims, met

    async def pick_in_a_row(self, queue: str, room: int) -> bool:
        """`pick` several times, while there are more jobs and room for them; return whether there may be more."""
        if queue in self._limited.queues or self._singly.get(queue):
            return await self.pick(queue, room)
        try:
            return await self._pick_while_there_is_more(queue, room)
        except PASSING:
            raise
        except REFUSED as error:
            return await self._handle_refused_pick(queue, room, error)

    async def _pick_while_there_is_more(self, queue: str, room: int) -> bool:
        """Send the next pick before the lanes get the claims of the last, so that both run at the same time."""
        rows = await self._fetch(queue, room)
        for _ in range(_IN_A_ROW):
            claims, more = await self._read(queue, rows), len(rows) >= room
            self._pace.measure(self._executor.finished)
            room = self._room(queue) - len(claims)
            if not more or room < _LEAST_BATCH or self.stopped:
                self._hand_over(claims)
                return more
            fetching = asyncio.get_running_loop().create_task(self._fetch(queue, room))
            self._hand_over(claims)
            rows = await fetching
        self._hand_over(await self._read(queue, rows))
        return len(rows) >= room

    def _hand_over(self, claims: list[Claim]) -> None:
        for claim in claims:
            if self._leases.holds(claim):
                # A crash or a failover of Postgres forgot the claim of a job that still runs here. Both claims have the
                # same token, so the new one is released: the next claim gets another token.
                self._executor.settle(
                    release(claim, "its worker had already claimed it when Postgres forgot the claim")
                )
                continue
            self._leases.hold(claim)
            self._executor.add(claim)

    async def _fetch(self, queue: str, room: int) -> Sequence[Row]:
        """Return the rows of one pick from a queue without limits."""
        bounds = self._bounds.get(queue)
        if bounds is not None and bounds.seconds_left > 0 and self._known.avoided(queue) is None:
            limits = (bounds.priorities, bounds.since, bounds.ids)
            rows = await self._run_pick("pick_jobs_from", queue, room, limits)
            bounds.advance(rows)
            return rows
        if self._known.is_shared(queue):
            return await self._run_pick("pick_known_jobs", queue, room)
        began = time.monotonic()
        rows = await self._run_pick("pick_jobs", queue, room)
        bounds = self._bounds.setdefault(queue, PickBounds())
        if bounds.record_full_pick(time.monotonic() - began, len(rows)) and not bounds.renew(rows):
            bounds.learn(await self._store.run(Query("read_pick_bounds", (queue, HORIZON))))
        return rows

    async def _run_pick(
        self, name: str, queue: str, room: int, more: tuple[object, ...] = ()
    ) -> Sequence[Row]:
        rows = await self._store.run_without_fsync(
            self._query(queue, room, admitted=False, name=name, more=more)
        )
        self._met += len(rows)
        return rows

    async def _read(self, queue: str, rows: Sequence[Row]) -> list[Claim]:
        """Return the claims of a pick, with those of its candidates that get their key."""
        claims = list(read_claims(queue, rows))
        if len(claims) < len(rows) and (candidates := self._known.candidates(queue, rows)):
            claims += await self._keyed.pick(queue, candidates)
        return claims

    def _note_met(self, jobs: int) -> None:
        self._met += jobs

    def _note_unknown(self, action: str, version: int) -> None:
        self._pick_again = True  # pick again, for the jobs behind those of unknown actions
        self._met_unknown(action, version)

    async def refresh(self) -> Sequence[Row]:
        """Read which queues are limited or paused, and how long until each has a due job; return these rows."""
        rows = await self._store.run(Query("next_due", (self._order,)))
        if shared := [queue for queue in self._order if self._known.is_shared(queue)]:
            known = await self._store.run(
                Query(
                    "next_known_due",
                    (shared, self._known.names, self._known.versions, self._known.avoided(None)),
                )
            )
            waits = {row["name"]: row["wait"] for row in known}
            rows = [{**row, "wait": waits.get(row["name"], row["wait"])} for row in rows]
        self._refreshed_at = time.monotonic()
        self._limited.queues = {row["name"] for row in rows if row["limited"]}
        self._keyed.queues_with_key_rate = {row["name"] for row in rows if row["key_limited"]}
        # Kept until the queue is picked from: the next hint may come before the next refresh.
        self._seldom_due = self._seldom.intersection(_names_due(rows))
        return rows

    def _due(self, rows: Sequence[Row]) -> list[str]:
        """Return the queues with due jobs among the rows of `refresh`; note how long until the next ones are due."""
        self._until_next_due = self._until_due(rows)
        return _names_due(rows)

    async def _next_due(self) -> float:
        return self._until_due(await self.refresh())

    def _until_due(self, rows: Sequence[Row]) -> float:
        waits: list[float] = [
            row["wait"].total_seconds()
            for row in rows
            if row["wait"] is not None
            and not row["paused"]
            and self._room(row["name"]) > 0
            and row["name"] not in self.queues_at_limit
        ]
        wait = min([self._poll, *waits])
        if wait > 0:
            self._met_none = 0
        # A due job that was not picked waits for its key, a limit or another session: pause instead of spinning.
        return max(wait, min(self._poll, _SHORT_PAUSE * 2.0 ** min(self._met_none, 10)))

    def _admitted_query(self, queue: str, room: int) -> Query:
        name = "pick_known_jobs" if self._known.is_shared(queue) else "pick_jobs"
        return self._query(queue, room, admitted=True, name=name)

    def _query(
        self, queue: str, room: int, *, admitted: bool, name: str, more: tuple[object, ...] = ()
    ) -> Query:
        known = (self._known.names, self._known.versions)
        if name == "pick_known_jobs":
            more = (self._known.avoided(queue),)
        return Query(name, (queue, room, self._worker, self._lease, admitted, *known, *more))

    def _total_room(self) -> int:
        """How many more jobs to claim in all queues: none while commits stall."""
        if self._stalled():
            return 0
        return room_for_claims(
            self._concurrency, self._pace, self._executor.load, self._backlog(), self._leases.room
        )

    def _room(self, queue: str) -> int:
        local = self._local[queue]
        room = self._total_room()
        return room if local is None else min(room, local - self._leases.held_of(queue))


def _names_due(rows: Sequence[Row]) -> list[str]:
    return [
        row["name"] for row in rows if row["wait"] is not None and row["wait"] <= _NOW and not row["paused"]
    ]
