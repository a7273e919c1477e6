"""Ends what nobody else would: leases that expired, TTLs that closed, awaits whose deadline passed, keys on hold."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from kairos.fsm.lifecycle import STORED, JobState
from kairos.store.pool import AsyncStore
from kairos.store.query import Query
from kairos.worker.flusher import open_keys
from kairos.worker.loop import Loop

log = structlog.get_logger("kairos.worker")

BATCH = 500
_KEYS = 200


class Sweeper(Loop):
    """One look at the agenda every `interval`; a statement only for what is on it."""

    name = "sweeper"

    def __init__(
        self, store: AsyncStore, worker: str, interval: float = 1.0, freed: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__()
        self._store = store
        self._worker = worker
        self._interval = interval
        self._freed = freed
        self._after_key = ""

    async def tick(self) -> float:
        agenda = (await self._store.run(Query("agenda")))[0]
        full = False
        if agenda["reap"]:
            full |= await self._reap()
        if agenda["expire"]:
            full |= await self._expire()
        if agenda["timeout"]:
            full |= len(await self._store.run(Query("timeout_jobs", (BATCH,)))) == BATCH
            self._freed()
        if agenda["held"]:
            await self._open_held()
        return 0.0 if full else self._interval

    async def _reap(self) -> bool:
        rows = await self._store.run(Query("reap_jobs", (BATCH, None, f"reaper of {self._worker}")))
        for row in rows:
            poisoned = row["status"] == STORED[JobState.FAILED]
            log.error("a job was lost too often" if poisoned else "a lease expired", job=row["id"])
        if keys := sorted({row["partition_key"] for row in rows if row["partition_key"] is not None}):
            await open_keys(self._store, keys)
        if rows:
            self._freed()
        return len(rows) == BATCH

    async def _expire(self) -> bool:
        rows = await self._store.run(Query("expire_jobs", (BATCH,)))
        for row in rows:
            log.warning("a job expired", job=row["id"])
        return len(rows) == BATCH

    async def _open_held(self) -> None:
        """The floor under `open_keys`: a few keys a time, round and round."""
        rows = await self._store.run(Query("held_keys", (self._after_key, _KEYS)))
        keys = [row["key"] for row in rows]
        self._after_key = keys[-1] if len(keys) == _KEYS else ""
        if keys:
            await open_keys(self._store, keys)
            self._freed()
