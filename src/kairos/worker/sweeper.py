"""Act on deadlines: expired leases, passed TTLs, timed out awaits, held keys and due schedules."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial

from kairos.fsm.lifecycle import STORED, JobState
from kairos.logger import Logger
from kairos.store.async_store import AsyncStore
from kairos.store.driver_errors import LOCKED, PASSING, REFUSED
from kairos.store.query import Query, Row
from kairos.worker.blocking_sessions import end_frozen, find_blockers, log_ended
from kairos.worker.commit import open_free_keys, open_keys
from kairos.worker.frozen_sessions import FrozenSessions
from kairos.worker.loop import Loop
from kairos.worker.refused_jobs import LeftAlone, RefusedJobs
from kairos.worker.ticker import Ticker
from kairos.worker.transaction import session_name

log = Logger("kairos.worker")

BATCH = 500
# Stuck keys are looked for every `_HELD_PAUSE` seconds by one of the live workers, at this many keys a second.
_HELD_PAUSE, _HELD_KEYS_A_SECOND = 0.3, 500
# How many keys that are within their rate again are opened at once.
_RATED_KEYS = 1000
_NOW = timedelta(0)
# How long a reap waits for a table lock.
_LOCK_WAIT = "1s"
# Seconds that the row of an expired lease may be locked before its blocker is searched, and how many rows at once.
_LOCKED_AFTER = 0.5
_LOCKED_AT_ONCE = 5
_SOON = 0.1
# Seconds after which all leases are read again; in between, only those that end after the first one of the last read.
_ALL_LEASES = 60.0


class Sweeper(Loop):
    """Read the next deadlines at least every `interval`, and run a statement only for what is due.

    If this loop got no answer from the database for longer than a heartbeat, the keepers of other workers got none
    either: expired leases are then extended by a heartbeat instead of reaped.
    """

    name = "sweeper"

    def __init__(
        self,
        store: AsyncStore,
        worker: str,
        interval: float = 2.0,
        freed: Callable[[], None] = lambda: None,
        lease: timedelta = timedelta(seconds=30),
    ) -> None:
        super().__init__()
        self._store = store
        self._worker = worker
        self._interval = interval
        self._freed = freed
        self._heartbeat = lease / 3
        self._after_key = ""
        self._locked_keys: list[str] = []
        self._sweepers = 1
        self._frozen = FrozenSessions(store)
        self._ticker = Ticker(store)
        self._read_at: float | None = None
        self._leases_from: datetime | None = None
        self._all_leases_at = 0.0
        self._stalled = False
        # Expired leases whose rows are locked, and since when.
        self._locked: dict[tuple[int, int], float] = {}
        self._reaps = RefusedJobs(
            self._reap_due, partial(self._find_due, "expired_leases"), "the reap of a job is refused"
        )
        self._expiries = RefusedJobs(
            partial(self._sweep_due, "expire_jobs"),
            partial(self._find_due, "expirable_jobs"),
            "the expiry of a job is refused",
        )
        self._timeouts = RefusedJobs(
            partial(self._sweep_due, "timeout_jobs"),
            partial(self._find_due, "late_awaits"),
            "the timeout of an await is refused",
        )
        self._refused_keys = LeftAlone[str]()
        self._next_poll = interval

    async def tick(self) -> float:
        deadlines = await self._next_deadlines()
        now = time.monotonic()
        longest = self._interval + self._heartbeat.total_seconds()
        self._stalled |= self._read_at is not None and now - self._read_at > longest
        self._read_at = now
        if deadlines["reap"] is None or deadlines["reap"] > _NOW:
            self._stalled = False
            self._locked.clear()
        self._next_poll = self._interval
        self._sweepers = deadlines["held"] or 1
        full = ran = False
        wait = self._interval
        refused: BaseException | None = None
        for until, sweep in (
            (_NOW if deadlines["held"] else None, self._open_held),
            (deadlines["reap"], self._reap),
            (deadlines["expire"], self._expire),
            (deadlines["timeout"], self._time_out),
            (deadlines["key_rate"], self._open_keys_within_rate),
            (deadlines["tick"], self._fire),
        ):
            if until is None:
                continue
            if until > _NOW:
                wait = min(wait, until.total_seconds())
                continue
            ran = True
            try:
                full |= await sweep()
            except PASSING:
                raise
            except REFUSED as error:
                refused = error  # the cause may be one job, which must not stop the other sweeps
        if ran and not full and refused is None:
            wait = min(wait, await self._next_deadline())
        if (again := await self._frozen.end()) is not None:
            self._next_poll = min(self._next_poll, again)
        if refused is not None:
            raise refused
        return 0.0 if full else min(wait, self._next_poll)

    async def _next_deadline(self) -> float:
        """Return the seconds until the next future deadline, read again because the sweep may have set a new one.

        What is due and could not be handled must not hide what is due next.
        """
        deadlines = await self._next_deadlines()
        waits = [until for until in deadlines.values() if isinstance(until, timedelta)]
        if any(until <= _NOW for until in waits):
            (later,) = await self._store.run(Query("later_deadlines"))
            waits += [until for until in later.values() if until is not None]
        if (
            deadlines["tick"] is not None
            and deadlines["tick"] <= _NOW
            and await self._ticker.has_due_schedule()
        ):
            self._frozen.met_lock()
        return min((until.total_seconds() for until in waits if until > _NOW), default=self._interval)

    async def _next_deadlines(self) -> Row:
        now = time.monotonic()
        if now - self._all_leases_at > _ALL_LEASES:
            self._leases_from, self._all_leases_at = None, now
        (deadlines,) = await self._store.run(Query("next_deadlines", (self._leases_from,)))
        self._leases_from = deadlines["leases_from"]
        return deadlines

    async def _fire(self) -> bool:
        full = await self._ticker.fire()
        if self._ticker.is_blocked:
            self.note_locked()
            self._next_poll = min(self._next_poll, _LOCKED_AFTER)
        self._freed()
        return full

    async def _time_out(self) -> bool:
        rows = await self._timeouts.run()
        if rows:
            self._freed()
        return len(rows) == BATCH

    async def _reap(self) -> bool:
        await self._extend()
        try:
            rows = await self._reaps.run()
        except LOCKED as error:
            log.warning("the table of jobs is locked", error=str(error))
            self._stalled = True
            return False
        await self._after_reap(rows)
        return len(rows) == BATCH

    async def _reap_due(self, job: int | None, left_alone: list[int]) -> Sequence[Row]:
        async with self._store.transaction() as connection:
            await self._store.on(connection, Query("limit_lock_wait", (_LOCK_WAIT,)))
            query = Query("reap_jobs", (BATCH, None, f"reaper of {self._worker}", job, left_alone))
            return await self._store.on(connection, query)

    async def _sweep_due(self, statement: str, job: int | None, left_alone: list[int]) -> Sequence[Row]:
        return await self._store.run(Query(statement, (BATCH, job, left_alone)))

    async def _find_due(self, statement: str, left_alone: list[int]) -> Sequence[Row]:
        return await self._store.run(Query(statement, (BATCH, left_alone)))

    async def _after_reap(self, rows: Sequence[Row]) -> None:
        for row in rows:
            poisoned = row["status"] == STORED[JobState.FAILED]
            log.error("a job was lost too often" if poisoned else "a lease expired", job=row["id"])
        if rows:
            schema = self._store.settings.schema
            names = [session_name(row["id"], row["lease"], schema) for row in rows]
            log_ended(await self._store.run(Query("end_step_sessions", (names,))))
        await self._open_keys_of(rows)
        if len(rows) < BATCH:
            await self._free_locked()

    async def _extend(self) -> None:
        """Extend expired leases that a lock or an outage kept from being renewed, before they are reaped."""
        if not self._stalled and not self._locked:
            return
        jobs = None if self._stalled else [job for job, _ in self._locked]
        rows = await self._store.run(Query("extend_leases", (self._heartbeat, jobs)))
        self._stalled = False
        if rows:
            log.warning("leases that could not be renewed are extended", jobs=len(rows))

    async def _free_locked(self) -> None:
        """End the sessions of frozen workers that keep the rows of expired leases locked."""
        rows = await self._find_due("expired_leases", self._reaps.left_alone.current())
        now = time.monotonic()
        self._locked = {
            key: self._locked.get(key, now) for key in ((row["id"], row["lease"]) for row in rows)
        }
        if self._locked:
            self._next_poll = _LOCKED_AFTER
        overdue = [key for key, since in self._locked.items() if now - since >= _LOCKED_AFTER]
        for key in overdue[:_LOCKED_AT_ONCE]:
            if await end_frozen(self._store, await find_blockers(self._store, key[0])):
                self._locked.clear()  # a frozen holder gets no extension; the other rows are found again
                self._next_poll = _SOON
                return

    async def _expire(self) -> bool:
        rows = await self._expiries.run()
        for row in rows:
            log.warning("a job expired", job=row["id"])
        await self._open_keys_of(rows)
        return len(rows) == BATCH

    async def _open_keys_within_rate(self) -> bool:
        """Open the keys that were over their rate limit and may start jobs again."""
        keys = [row["key"] for row in await self._store.run(Query("take_keys_within_rate", (_RATED_KEYS,)))]
        if keys:
            await self._open(sorted(keys))
            self._freed()
        return len(keys) == _RATED_KEYS

    async def _open_keys_of(self, rows: Sequence[Row]) -> None:
        """Open the keys that these jobs held."""
        if keys := sorted({row["partition_key"] for row in rows if row["partition_key"] is not None}):
            await self._open(keys)
        if rows:
            self._freed()

    async def _open_held(self) -> bool:
        """Open stuck keys, a portion at each tick: the safety net for an `open_keys` that a crash prevented."""
        # At random, so that the searches of several workers are spread over the time.
        pause = min(_HELD_PAUSE * self._sweepers * random.uniform(0.7, 1.3), self._interval)  # noqa: S311
        self._next_poll = min(self._next_poll, pause)
        most = max(100, round(_HELD_KEYS_A_SECOND * pause))
        rows = await self._store.run(Query("find_stuck_keys", (self._after_key, most)))
        if not rows and self._after_key:  # past the last: from the first again
            rows = await self._store.run(Query("find_stuck_keys", ("", most)))
        self._after_key = rows[-1]["key"] if rows else ""
        stuck = {row["key"] for row in rows if row["stuck"]}.union(self._locked_keys)
        if keys := sorted(stuck.difference(self._refused_keys.current())):
            self._locked_keys, refused = await open_free_keys(self._store, keys)
            for key in refused:
                self._refused_keys.add(key)
            if self._locked_keys:
                self._frozen.met_lock()
            self._freed()
        return False

    async def _open(self, keys: list[str]) -> None:
        if not await open_keys(self._store, keys):
            self._frozen.met_lock()
