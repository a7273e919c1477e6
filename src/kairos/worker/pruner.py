"""Retention: delete ended jobs, decided ticks and audit rows that are old enough."""

from __future__ import annotations

from datetime import datetime, timedelta

from kairos.logger import Logger
from kairos.store.async_store import AsyncStore
from kairos.store.query import Query
from kairos.worker.loop import Loop

log = Logger("kairos.worker")

BATCH = 1000
_INTERVAL = 60.0


class Pruner(Loop):
    """Delete in small batches; history and signals are deleted with their job."""

    name = "pruner"

    def __init__(self, store: AsyncStore, retention: timedelta) -> None:
        super().__init__()
        self._store = store
        self._retention = retention
        self._batch = BATCH
        # The instant at which the next batch begins. While a snapshot is held open, the index keeps the entries of
        # deleted jobs, and a batch that began at the first would walk over them (decision 0146).
        self._begin: datetime | None = None

    async def tick(self) -> float:
        batch = self._batch
        jobs = await self._purge_jobs(batch)
        ticks = (await self._store.run(Query("purge_ticks", (self._retention, batch))))[0]["ticks"]
        requests = (await self._store.run(Query("purge_idempotency_keys", (batch,))))[0]["requests"]
        audit = (await self._store.run(Query("purge_expired_audit", (batch,))))[0]["forgotten"]
        self._batch = min(BATCH, 2 * batch)
        if jobs or ticks or audit:
            log.info("retention", purged=jobs, ticks=ticks, audit=audit)
        if batch in (jobs, ticks, requests, audit):
            return 0.0
        await self._store.run(Query("purge_key_rates"))
        return _INTERVAL

    async def _purge_jobs(self, batch: int) -> int:
        """Delete a batch of jobs. After one that was not full, the next begins at the first job again."""
        purged = (await self._store.run(Query("purge_jobs", (self._retention, batch, self._begin))))[0]
        self._begin = purged["upto"] if purged["jobs"] == batch else None
        return int(purged["jobs"])

    def failed(self, error: BaseException) -> None:
        """Use a smaller batch the next time: jobs with very long logs may take longer than the statement timeout."""
        self._batch = max(1, self._batch // 8)
