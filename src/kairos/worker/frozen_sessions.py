"""End the sessions of frozen workers that keep locks which this worker needs."""

from __future__ import annotations

import time
from collections.abc import Callable

from kairos.store.async_store import AsyncStore
from kairos.store.query import Query
from kairos.worker.blockers import log_ended

# How long a lock may be met, at every call, before the sessions are looked at, and how soon they are looked at again.
_MET_SECONDS, _AGAIN = 1.0, 0.5
_SOON = 0.1
# How often they are looked at while work goes on: a pick passes over locked jobs, and does not tell.
_BUSY_SECONDS = 10.0


class FrozenSessions:
    """A loop says at each tick which locks it met, and asks for the sessions to be ended that hold them for long."""

    def __init__(self, store: AsyncStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._met = False
        self._since: float | None = None
        self._looked_at = clock()

    def met_lock(self) -> None:
        """Something that is due could not be had."""
        self._met = True

    async def end(self, *, busy: bool = False) -> float | None:
        """End frozen sessions if it is time to look; return how soon to come again, None if no lock was met."""
        now = self._clock()
        met, self._met = self._met, False
        if not met:
            self._since = None
        elif self._since is None:
            self._since = now
        met_for_long = self._since is not None and now - self._since >= _MET_SECONDS
        ended = False
        if met_for_long or (busy and now - self._looked_at >= _BUSY_SECONDS):
            self._looked_at = now
            sessions = await self._store.run(Query("end_frozen_sessions"))
            log_ended(sessions)
            ended = bool(sessions)
            self._since = now - _MET_SECONDS + _AGAIN if met and not ended else None
        if not met:
            return None
        return _SOON if ended else _AGAIN
