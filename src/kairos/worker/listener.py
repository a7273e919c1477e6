"""Hints from Postgres: which queue has news, which job was asked to stop. Only ever hints over polling."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from kairos.store.pool import AsyncStore, Connection
from kairos.store.query import Query
from kairos.worker.loop import Loop

# No queue has this name: it may not contain a control character.
_TEST = "\x01"


class Listener(Loop):
    """One connection that LISTENs, pinged so that a half-open one does not look healthy for ever."""

    name = "listener"

    def __init__(
        self,
        store: AsyncStore,
        on_queue: Mapping[str, Callable[[], None]],
        on_cancel: Callable[[int], None],
    ) -> None:
        super().__init__()
        self._store = store
        self._on_queue = on_queue
        self._on_cancel = on_cancel
        self._connection: Connection | None = None
        self._hears = False

    @property
    def hears(self) -> bool:
        """Whether it is connected, and heard us say something since it is."""
        return self._hears and self._connection is not None and not self._connection.is_closed()

    async def tick(self) -> float:
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._store.connect(self._store.settings.direct_url)
            await self._connection.add_listener("kairos", self._heard_queue)
            await self._connection.add_listener("kairos_cancel", self._heard_cancel)
            self._hears = False
            # Said on another connection: behind a pooler LISTEN succeeds, and nothing is ever heard.
            await self._store.run(Query("notify_queues", ([_TEST],)))
            for news in set(self._on_queue.values()):
                news()  # whatever was said while nobody listened
        async with asyncio.timeout(5):
            await self._connection.fetchval("select 1")
        return 15.0

    def failed(self, error: BaseException) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close(timeout=2)

    def _heard_queue(self, _connection: Any, _pid: int, _channel: str, queue: str) -> None:
        self._hears = True
        if queue in self._on_queue:
            self._on_queue[queue]()

    def _heard_cancel(self, _connection: Any, _pid: int, _channel: str, job_id: str) -> None:
        if job_id.isdecimal():
            self._on_cancel(int(job_id))
