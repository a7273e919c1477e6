"""The psycopg connections of `ctx.transaction()` in `def` steps, used again as `step_connections.py` says."""

from __future__ import annotations

import asyncio
import threading
import time

import psycopg

from kairos.store.connection_settings import HAS_TRANSACTION_TIMEOUT, NO_TRANSACTION_TIMEOUT
from kairos.store.step_connections import MOST, RENEW, UNUSED
from kairos.store.sync_store import BoundedConnection, SyncStore


class SyncStepConnections:
    """The unused connections of one store. Threads may call `take` and `give_back`."""

    def __init__(self, store: SyncStore) -> None:
        self.store = store
        self._unused: list[tuple[float, BoundedConnection]] = []
        self._lock = threading.Lock()
        self._timer: asyncio.TimerHandle | None = None

    def take(self) -> BoundedConnection:
        """Return a connection, to be passed to `give_back` after a commit, or closed."""
        with self._lock:
            connection = self._unused.pop()[1] if self._unused else None
        return self.store.connect_for_step() if connection is None else connection

    def give_back(self, connection: BoundedConnection) -> None:
        """Keep the session of a connection for another step; the step that had it cannot use it any more."""
        if not self.store.settings.prepare or len(self._unused) >= MOST:
            connection.close()  # behind a pooler a session cannot be reset
            return
        renewed = connection.hand_over()
        try:
            with renewed.answering_within(RENEW):
                renewed.execute("discard all")
                if renewed.info.server_version // 10_000 >= HAS_TRANSACTION_TIMEOUT:
                    renewed.execute(NO_TRANSACTION_TIMEOUT)
        except psycopg.Error:
            renewed.close()  # what it was used for is committed
            return
        with self._lock:
            self._unused.append((time.monotonic(), renewed))

    def close_unused_later(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close connections that stay unused, after a while and again as long as any are left."""
        if self._timer is None and self._unused:
            self._timer = loop.call_later(UNUSED, self._close_unused, loop)

    def _close_unused(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        self.close(unused_since=time.monotonic() - UNUSED)
        self.close_unused_later(loop)

    def close(self, unused_since: float = float("inf")) -> None:
        """Close the connections that have been unused since this moment of the monotonic clock; by default all."""
        with self._lock:
            old = [each for since, each in self._unused if since <= unused_since]
            self._unused = [(since, each) for since, each in self._unused if since > unused_since]
        for connection in old:
            connection.close()
        if self._timer is not None and not self._unused:
            self._timer.cancel()
            self._timer = None
