"""Renew the leases of a worker whose keeper is silent, and stop steps whose leases have not been renewed for long."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from kairos.logger import Logger
from kairos.store.async_store import AsyncStore
from kairos.store.driver_errors import PASSING, REFUSED
from kairos.store.query import Query
from kairos.worker.keeper_process import KeeperProcess
from kairos.worker.leases import Leases
from kairos.worker.loop import Loop

log = Logger("kairos.worker")

# A keeper checks its leases three times per lease. After `_SILENT_AFTER` leases without a check the worker renews them
# itself, while there is time, and replaces a keeper that a signal stopped. One that is silent for another reason, which
# may be the database, counts as hung and is replaced after `_HUNG_AFTER` leases, but not before `_HUNG_AFTER_SECONDS`.
_SILENT_AFTER = 0.5
_HUNG_AFTER, _HUNG_AFTER_SECONDS = 2.0, 20.0
# Steps are stopped after `LOST_AFTER` leases without a renewal, but not before `LOST_AFTER_SECONDS`. One lease would be
# too soon: an outage of the database stops the renewals of all workers, and then leases are extended, not reaped.
LOST_AFTER, LOST_AFTER_SECONDS = 3.0, 30.0


class LeaseWatch(Loop):
    """Compares the times of the keeper's last check and renewal with the monotonic clock.

    A renewal by the worker beside one by its keeper does no harm: both name the tokens that the worker holds. The fence
    refuses a late commit in any case; stopping the step limits what it does outside the database.
    """

    name = "lease watch"

    def __init__(
        self,
        store: AsyncStore,
        worker: str,
        leases: Leases,
        keeper: KeeperProcess,
        lease: timedelta,
        on_lost: Callable[[list[tuple[int, int]]], None],
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        super().__init__()
        self._store = store
        self._worker = worker
        self._leases = leases
        self._keeper = keeper
        self._lease = lease
        self._seconds = lease.total_seconds()
        self._on_lost = on_lost
        self._clock = clock
        self._known: set[tuple[int, int]] = set()
        self._began = self._since = clock()

    async def tick(self) -> float:
        expired = set(self._leases.expired(max(LOST_AFTER * self._seconds, LOST_AFTER_SECONDS)))
        if found := expired - self._known:
            log.error("leases were not renewed for long: their steps are stopped", jobs=len(found))
            self._on_lost(sorted(found))
        self._known = expired
        _, checked_at = self._leases.keeper_times
        now = self._clock()
        if now - max(checked_at, self._began) > _SILENT_AFTER * self._seconds * 1e9:
            await self._renew(now)
        if self._keeper_hangs((now - max(checked_at, self._since)) / 1e9):
            log.error("the keeper hangs and is replaced")
            self._since = now
            self._keeper.replace()
        return self._seconds / 6

    async def _renew(self, now: int) -> None:
        """Renew the leases in place of the keeper; what was lost or cancelled others find out."""
        if not (held := self._leases.held()):
            return
        ids, tokens = [job for job, _ in held], [token for _, token in held]
        try:
            await self._store.run(Query("renew_leases", (ids, tokens, self._lease, self._worker)))
        except (*PASSING, REFUSED) as error:
            log.debug("the leases of a silent keeper are not renewed", error=str(error))
        else:
            self._leases.note_renewal(now)

    def _keeper_hangs(self, silent_for: float) -> bool:
        if silent_for > max(_HUNG_AFTER * self._seconds, _HUNG_AFTER_SECONDS):
            return True
        return silent_for > _SILENT_AFTER * self._seconds and self._keeper.is_stopped
