"""Retention: settled jobs and decided ticks leave after their time."""

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

    async def tick(self) -> float:
        jobs = (await self._store.run(Query("purge_jobs", (self._retention, BATCH))))[0]["jobs"]
        ticks = (await self._store.run(Query("forget_ticks", (self._retention, BATCH))))[0]["ticks"]
        if jobs or ticks:
            log.info("retention", purged=jobs, ticks=ticks)
        if BATCH in (jobs, ticks):
            return 0.0
        await self._store.run(Query("forget_keys"))
        await self._store.run(Query("forget_requests", (BATCH,)))
        return self._interval
