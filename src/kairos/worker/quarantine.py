"""Run a suspect without other steps beside it: a job whose workers were lost repeatedly, perhaps because of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from kairos.logger import Logger
from kairos.store.async_store import AsyncStore
from kairos.store.driver_errors import PASSING
from kairos.store.query import Query
from kairos.worker.claim import Claim
from kairos.worker.leases import Leases

log = Logger("kairos.worker")

# Seconds that a suspect waits for the other steps to end. After that it runs beside them, and is not marked as alone.
_WAIT_TO_BE_ALONE = 2.0
# Seconds after which other steps may start again: a long step must not keep the worker's other lanes idle.
_ALONE_AT_MOST = 60.0
_POLL_INTERVAL = 0.02
_RETRY = 5.0

Mark = Callable[[Claim, bool], Awaitable[bool]]


async def _unmarked(_claim: Claim, _alone: bool) -> bool:
    return True


class Quarantine:
    """Admit one suspect at a time; while one runs alone (`is_closed`), no other step starts."""

    def __init__(self, leases: Leases, mark: Mark = _unmarked) -> None:
        self._leases = leases
        self._mark = mark
        self._suspect: Claim | None = None
        self._ending: asyncio.Future[None] | None = None

    @property
    def is_closed(self) -> bool:
        return self._suspect is not None and self._suspect.suspect and self._leases.holds(self._suspect)

    def admit(self, claim: Claim) -> bool:
        """Admit this suspect; return False if another one is in quarantine."""
        if self.is_closed and self._suspect is not claim:
            return False
        self._suspect = claim
        return True

    async def until_alone(self, claim: Claim, is_alone: Callable[[], bool]) -> bool:
        """Wait for the other steps to end, then record that the job runs alone; return False if its lease was lost.

        If they do not end in time, the job runs beside them, and nothing is recorded.
        """
        deadline = time.monotonic() + _WAIT_TO_BE_ALONE
        while not is_alone():
            if time.monotonic() >= deadline:
                return True
            await asyncio.sleep(_POLL_INTERVAL)
        if not await self._mark(claim, True):
            return False
        asyncio.get_running_loop().call_later(_ALONE_AT_MOST, self._end_soon, claim)
        return True

    def leave(self, claim: Claim) -> None:
        """End the quarantine of this suspect."""
        if self._suspect is claim:
            self._suspect = None

    def _end_soon(self, claim: Claim) -> None:
        if self.is_closed and self._suspect is claim:
            self._ending = asyncio.ensure_future(self._end(claim))

    async def _end(self, claim: Claim) -> None:
        """Unmark the job as alone, then let other steps start."""
        try:
            await self._mark(claim, False)
        except PASSING as error:
            log.warning(
                "a suspect could not be unmarked, and still runs alone", job=claim.id, error=str(error)
            )
            asyncio.get_running_loop().call_later(_RETRY, self._end_soon, claim)
        else:
            self.leave(claim)


def mark_in(store: AsyncStore, worker: str) -> Mark:
    """Return the function that marks in the database whether a job runs alone."""

    async def mark(claim: Claim, alone: bool) -> bool:
        return bool(await store.run(Query("mark_alone", (claim.id, claim.lease, worker, alone))))

    return mark
