"""Send notifications after the commit, for the async and the sync store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from kairos.errors import DatabaseUnavailable
from kairos.logger import Logger
from kairos.store.query import Notify, Outbox, Query

log = Logger("kairos")

# Seconds between two batches while notifications keep coming.
_INTERVAL = 0.002


class AsyncOutbox(Outbox):
    """Send in the background: the first notification at once, then one batch every 2 ms for any number of jobs."""

    def __init__(self, run: Callable[[Query], Awaitable[object]]) -> None:
        super().__init__()
        self._run = run
        self._sending: asyncio.Task[None] | None = None

    def add(self, notify: Notify) -> None:
        super().add(notify)
        if self and (self._sending is None or self._sending.done()):
            self._sending = asyncio.get_running_loop().create_task(self._send())

    async def close(self, timeout: float) -> None:
        """Wait until everything is sent, but not longer than `timeout` seconds."""
        if self._sending is not None:
            _, unsent = await asyncio.wait([self._sending], timeout=timeout)
            for task in unsent:
                task.cancel()

    async def _send(self) -> None:
        while self:
            for query in self.take().queries():
                try:
                    await self._run(query)
                except DatabaseUnavailable as error:
                    _lost(error)
            await asyncio.sleep(_INTERVAL)


class SyncOutbox(Outbox):
    """Send at once: without an event loop nothing can be sent in the background."""

    def __init__(self, run: Callable[[Query], object]) -> None:
        super().__init__()
        self._run = run

    def add(self, notify: Notify) -> None:
        for query in notify.queries():
            try:
                self._run(query)
            except DatabaseUnavailable as error:
                _lost(error)


def _lost(error: DatabaseUnavailable) -> None:
    log.warning("a notification was lost: workers find the jobs by polling", error=str(error))
