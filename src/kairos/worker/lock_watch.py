"""Name the sessions whose locks keep the loops of this worker waiting."""

from __future__ import annotations

from collections.abc import Sequence

from kairos.logger import Logger
from kairos.store.async_store import AsyncStore
from kairos.store.query import Query
from kairos.worker.blocking_sessions import describe
from kairos.worker.loop import Loop

log = Logger("kairos.worker")

_EVERY = 1.0
# After this many ticks in which no loop waited, the same session is logged again.
_QUIET_TICKS = 10
# Seconds. A tick that takes longer may wait for a lock; healthy ones take milliseconds.
SLOW_AFTER = 1.0


class LockWatch(Loop):
    """Find the blocking sessions while a tick of another loop takes long or waits for a lock; log each once per wait.

    While all ticks are short and find no lock, no statement is sent.
    """

    name = "lock watch"

    def __init__(self, store: AsyncStore, watched: Sequence[Loop]) -> None:
        super().__init__()
        self._store = store
        self._watched = watched
        self._quiet = 0
        self._known: set[tuple[str, int]] = set()

    async def tick(self) -> float:
        waiting = [
            loop.name for loop in self._watched if loop.take_locked() or loop.seconds_in_tick > SLOW_AFTER
        ]
        self._quiet = 0 if waiting else self._quiet + 1
        if not waiting:
            if self._quiet >= _QUIET_TICKS:
                self._known.clear()
            return _EVERY
        connection = await self._store.connect()  # those of the pool may all be waiting
        try:
            found = await self._store.on(connection, Query("find_lock_holders"))
        finally:
            await connection.close()
        for row in found:
            if (key := (row["locked"], row["pid"])) not in self._known:
                self._known.add(key)
                log.warning(
                    "a lock of another session keeps this worker waiting",
                    loops=waiting,
                    locked=row["locked"],
                    session=describe([row]),
                )
        return _EVERY
