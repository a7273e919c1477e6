"""Stop steps whose leases have not been renewed for long: another worker most likely runs their jobs."""

from __future__ import annotations

import time
from collections.abc import Callable

from kairos.logger import Logger
from kairos.worker.keeper_process import KeeperProcess
from kairos.worker.leases import Leases
from kairos.worker.loop import Loop

log = Logger("kairos.worker")

# A keeper checks its leases three times per lease. If a signal stopped it, it is replaced after `_STOPPED_AFTER` leases
# without a check, in time for its successor to renew them. If it is silent for another reason, it counts as hung and is
# replaced after `_HUNG_AFTER` leases, but not before `_HUNG_AFTER_SECONDS`.
_STOPPED_AFTER = 0.5
_HUNG_AFTER, _HUNG_AFTER_SECONDS = 2.0, 20.0
# Steps are stopped after `LOST_AFTER` leases without a renewal, but not before `LOST_AFTER_SECONDS`. One lease would be
# too soon: an outage of the database stops the renewals of all workers, and then leases are extended, not reaped.
LOST_AFTER, LOST_AFTER_SECONDS = 3.0, 30.0


class LeaseWatch(Loop):
    """Compares the time of the keeper's last renewal with the monotonic clock, without asking the database.

    The fence refuses a late commit in any case; stopping the step limits what it does outside the database.
    """

    name = "lease watch"

    def __init__(
        self,
        leases: Leases,
        keeper: KeeperProcess,
        lease: float,
        on_lost: Callable[[list[tuple[int, int]]], None],
    ) -> None:
        super().__init__()
        self._leases = leases
        self._keeper = keeper
        self._lease = lease
        self._on_lost = on_lost
        self._known: set[tuple[int, int]] = set()
        self._since = time.monotonic_ns()

    async def tick(self) -> float:
        expired = set(self._leases.expired(max(LOST_AFTER * self._lease, LOST_AFTER_SECONDS)))
        if found := expired - self._known:
            log.error("leases were not renewed for long: their steps are stopped", jobs=len(found))
            self._on_lost(sorted(found))
        self._known = expired
        if self._keeper_hangs():
            log.error("the keeper hangs and is replaced")
            self._since = time.monotonic_ns()
            self._keeper.replace()
        return self._lease / 6

    def _keeper_hangs(self) -> bool:
        _, looked_at = self._leases.keeper_times
        silent_for = (time.monotonic_ns() - max(looked_at, self._since)) / 1e9
        if silent_for > max(_HUNG_AFTER * self._lease, _HUNG_AFTER_SECONDS):
            return True
        return silent_for > _STOPPED_AFTER * self._lease and self._keeper.is_stopped
