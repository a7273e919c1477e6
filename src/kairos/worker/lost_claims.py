"""Claims that this worker has and does not know of: the answer to a pick or to a commit was lost."""

from __future__ import annotations

import math
import time
from datetime import timedelta

from kairos.logger import Logger
from kairos.store.async_store import AsyncStore
from kairos.store.query import Query
from kairos.worker.leases import Leases

log = Logger("kairos.worker")

# Seconds until the second look; each later one comes after twice the time.
_FIRST_PAUSE = 0.25


class LostClaims:
    """Release jobs that are leased to this worker and that it does not hold; otherwise they wait for the lease to end.

    Postgres goes on with a statement whose connection is lost, behind a pooler for as long as its commit waits for a
    standby. So after a doubt the worker looks at once, and then at growing intervals for the length of a lease.
    """

    def __init__(self, store: AsyncStore, worker: str, leases: Leases, lease: timedelta) -> None:
        self._store = store
        self._worker = worker
        self._leases = leases
        self._lease = lease.total_seconds()
        self._since = self._look_at = math.inf

    def doubt(self) -> None:
        """Look at the next tick: the answer to a pick or a commit may have been lost."""
        self._since = self._look_at = time.monotonic()

    @property
    def seconds_left(self) -> float:
        """Return the seconds until the next look."""
        return max(0.0, self._look_at - time.monotonic())

    async def release(self) -> bool:
        """Look if it is time, and return whether a job was released."""
        now = time.monotonic()
        if now < self._look_at:
            return False
        # Set before the statement: a doubt that comes while it runs must not be forgotten.
        passed = now - self._since
        self._look_at = now + max(passed, _FIRST_PAUSE) if passed < self._lease else math.inf
        rows = await self._store.run(Query("release_unstarted", (self._worker, self._leases.ids)))
        if rows:
            log.warning("claims whose answer was lost are given back", jobs=len(rows))
        return bool(rows)
