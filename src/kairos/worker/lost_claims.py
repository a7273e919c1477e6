"""Find and release claims that this worker does not know of, because the answer to a pick or a commit was lost."""

from __future__ import annotations

import math
import time
from datetime import timedelta

from kairos.logger import Logger
from kairos.store.async_store import AsyncStore
from kairos.store.query import Query
from kairos.worker.leases import Leases

log = Logger("kairos.worker")

# Seconds from the first search to the second; after that, the time since the first one doubles.
_FIRST_PAUSE = 0.25


class LostClaims:
    """Release jobs that are leased to this worker and that it does not hold; otherwise they wait for the lease to end.

    Postgres goes on with a statement whose connection is lost, behind a pooler for as long as its commit waits for a
    standby. So when an answer may have been lost, the worker searches at once, and then at growing intervals for the
    length of a lease.
    """

    def __init__(self, store: AsyncStore, worker: str, leases: Leases, lease: timedelta) -> None:
        self._store = store
        self._worker = worker
        self._leases = leases
        self._lease = lease.total_seconds()
        self._since = self._search_at = math.inf

    def doubt(self) -> None:
        """Search at the next tick: the answer to a pick or a commit may have been lost."""
        self._since = self._search_at = time.monotonic()

    @property
    def seconds_left(self) -> float:
        """The seconds until the next search."""
        return max(0.0, self._search_at - time.monotonic())

    async def release(self) -> bool:
        """Search if it is time, and release what is found; return whether there was a claim."""
        now = time.monotonic()
        if now < self._search_at:
            return False
        # Set before the statement: a doubt that comes while it runs must not be forgotten.
        passed = now - self._since
        self._search_at = now + max(passed, _FIRST_PAUSE) if passed < self._lease else math.inf
        rows = await self._store.run(Query("release_unstarted", (self._worker, self._leases.ids)))
        if rows:
            log.warning("claims whose answer was lost are given back", jobs=len(rows))
        return bool(rows)
