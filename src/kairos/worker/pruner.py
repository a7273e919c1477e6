"""Retention: settled jobs, decided ticks and old rows of the audit log leave after their time."""

from __future__ import annotations

from datetime import timedelta

from kairos.store.pool import AsyncStore
from kairos.store.query import Query
from kairos.worker.logs import Log
from kairos.worker.loop import Loop

log = Log("kairos.worker")

BATCH = 1000


class Pruner(Loop):
    """Deletes in small batches; history and signals go with their job."""

    name = "pruner"

    def __init__(self, store: AsyncStore, retention: timedelta, interval: float = 60.0) -> None:
        super().__init__()
        self._store = store
        self._retention = retention
        self._interval = interval
        self._batch = BATCH

    async def tick(self) -> float:
        batch = self._batch
        jobs = (await self._store.run(Query("purge_jobs", (self._retention, batch))))[0]["jobs"]
        ticks = (await self._store.run(Query("forget_ticks", (self._retention, batch))))[0]["ticks"]
        requests = (await self._store.run(Query("forget_requests", (batch,))))[0]["requests"]
        audit = (await self._store.run(Query("retire_audit", (batch,))))[0]["forgotten"]
        self._batch = min(BATCH, 2 * batch)
        if jobs or ticks or audit:
            log.info("retention", purged=jobs, ticks=ticks, audit=audit)
        if batch in (jobs, ticks, requests, audit):
            return 0.0
        await self._store.run(Query("forget_keys"))
        return self._interval

    def failed(self, error: BaseException) -> None:
        """Ask for less the next time: jobs with very long logs may take longer than a statement is waited for."""
        self._batch = max(1, self._batch // 8)
