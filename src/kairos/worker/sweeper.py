"""Ends what nobody else would: leases that expired, TTLs that closed, awaits whose deadline passed, keys on hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from kairos.fsm.lifecycle import STORED, JobState
from kairos.store.pool import AsyncStore
from kairos.store.query import Query, Row
from kairos.worker.commit import open_keys
from kairos.worker.logs import Log
from kairos.worker.loop import Loop
from kairos.worker.ticker import Ticker

log = Log("kairos.worker")

BATCH = 500
_KEYS = 1000
_NOW = timedelta(0)


class Sweeper(Loop):
    """A look at the agenda at least every `interval`, and at each deadline on it; a statement only for what is due."""

    name = "sweeper"

    def __init__(
        self, store: AsyncStore, worker: str, interval: float = 2.0, freed: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__()
        self._store = store
        self._worker = worker
        self._interval = interval
        self._freed = freed
        self._after_key = ""
        self._ticker = Ticker(store)

    async def tick(self) -> float:
        agenda = (await self._store.run(Query("agenda")))[0]
        if agenda["held"]:
            await self._open_held()
        full = False
        wait = self._interval
        for name, sweep in (
            ("reap", self._reap),
            ("expire", self._expire),
            ("timeout", self._time_out),
            ("pay", self._open_paid),
            ("tick", self._fire),
        ):
            until = agenda[name]
            if until is None:
                continue
            if until <= _NOW:
                full |= await sweep()
            else:
                wait = min(wait, until.total_seconds())
        return 0.0 if full else wait

    async def _fire(self) -> bool:
        full = await self._ticker.fire()
        self._freed()
        return full

    async def _time_out(self) -> bool:
        rows = await self._store.run(Query("timeout_jobs", (BATCH,)))
        if rows:
            self._freed()
        return len(rows) == BATCH

    async def _reap(self) -> bool:
        rows = await self._store.run(Query("reap_jobs", (BATCH, None, f"reaper of {self._worker}")))
        for row in rows:
            poisoned = row["status"] == STORED[JobState.FAILED]
            log.error("a job was lost too often" if poisoned else "a lease expired", job=row["id"])
        await self._let_in(rows)
        return len(rows) == BATCH

    async def _expire(self) -> bool:
        rows = await self._store.run(Query("expire_jobs", (BATCH,)))
        for row in rows:
            log.warning("a job expired", job=row["id"])
        await self._let_in(rows)
        return len(rows) == BATCH

    async def _open_paid(self) -> bool:
        """Keys that were over their rate and may start again."""
        keys = [row["key"] for row in await self._store.run(Query("paid_keys", (_KEYS,)))]
        if keys:
            await open_keys(self._store, sorted(keys))
            self._freed()
        return len(keys) == _KEYS

    async def _let_in(self, rows: Sequence[Row]) -> None:
        """Jobs left their places: whoever is next in the lines of their keys may have its turn."""
        if keys := sorted({row["partition_key"] for row in rows if row["partition_key"] is not None}):
            await open_keys(self._store, keys)
        if rows:
            self._freed()

    async def _open_held(self) -> None:
        """The floor under `open_keys`: keys that nobody would let in, some of the line a time, round and round."""
        rows = await self._store.run(Query("held_keys", (self._after_key, _KEYS)))
        self._after_key = rows[-1]["key"] if rows else ""
        if keys := [row["key"] for row in rows if row["stuck"]]:
            await open_keys(self._store, keys)
            self._freed()
