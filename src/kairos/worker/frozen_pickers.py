"""End the database session of a worker that froze inside a pick and keeps the lock of a queue or a key."""

from __future__ import annotations

import time

from kairos.logger import Logger
from kairos.store.async_store import AsyncStore
from kairos.store.query import Query

log = Logger("kairos.worker")

# How long picks may find locks taken before the sessions that hold them are examined.
_LOCKED_SECONDS = 1.0


class FrozenPickers:
    """Counts for how long every tick of the picker found a lock taken."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._met_lock = False
        self._locked_since: float | None = None

    def note_lock(self) -> None:
        """A pick found the lock of a queue or a key taken by another session."""
        self._met_lock = True

    async def end(self) -> None:
        """At the end of a tick: end frozen sessions if locks have been taken for long."""
        now = time.monotonic()
        if not self._met_lock:
            self._locked_since = None
        elif self._locked_since is None:
            self._locked_since = now
        elif now - self._locked_since >= _LOCKED_SECONDS:
            self._locked_since = now
            for row in await self._store.run(Query("end_frozen_pickers")):
                log.error("ended the session of a frozen worker", pid=row["pid"])
        self._met_lock = False
