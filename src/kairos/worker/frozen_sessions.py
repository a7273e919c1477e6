"""Terminate the sessions of frozen workers that hold locks which this worker needs."""

from __future__ import annotations

import time
from collections.abc import Callable

from kairos.store.async_store import AsyncStore
from kairos.store.query import Query
from kairos.worker.blocking_sessions import log_ended

# Seconds for which every tick must find a lock taken before frozen sessions are searched, then the pauses between two
# searches. A session counts as frozen after 0.6 s (end_frozen_sessions.sql): the first search finds one that froze
# before its lock was met, the third one that froze at that moment, and so the work continues within a second.
_MET_SECONDS, _PAUSES, _LAST_PAUSE = 0.3, (0.15, 0.17, 0.15, 0.3), 0.5
# The pause after sessions were terminated: Postgres takes milliseconds to free their locks.
_SOON = 0.05
# The pause between two searches while work continues: a pick skips locked jobs without reporting them.
_BUSY_SECONDS = 10.0


class FrozenSessions:
    """Decide when to search for frozen sessions: once a loop has found a lock taken at every tick for a while.

    At each tick the loop calls `met_lock` if it could not get a lock, and then `end`.
    """

    def __init__(self, store: AsyncStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._met = False
        self._since: float | None = None
        self._look_at = 0.0
        self._searches = 0
        self._looked_at = clock()

    def met_lock(self) -> None:
        """Note that another session holds a lock that this tick needed."""
        self._met = True

    async def end(self, *, busy: bool = False) -> float | None:
        """Terminate frozen sessions if a search is due; return the seconds to the next call, None if no lock was met.

        With `busy` (the tick found work) a search is due every `_BUSY_SECONDS`, even if no lock was met.
        """
        now = self._clock()
        met, self._met = self._met, False
        if not met:
            self._since = None
        elif self._since is None:
            self._since = now
            self._look_at, self._searches = now + _MET_SECONDS, 0
        met_for_long = self._since is not None and now >= self._look_at
        ended = False
        if met_for_long or (busy and now - self._looked_at >= _BUSY_SECONDS):
            self._looked_at = now
            sessions = await self._store.run(Query("end_frozen_sessions"))
            log_ended(sessions)
            ended = bool(sessions)
            if ended:
                self._since = None
            elif met:
                self._look_at = now + (
                    _PAUSES[self._searches] if self._searches < len(_PAUSES) else _LAST_PAUSE
                )
                self._searches += 1
        if not met:
            return None
        return _SOON if ended else max(self._look_at - now, _SOON)
