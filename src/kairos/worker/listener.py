"""Receive Postgres notifications of new jobs and cancel requests. Polling works without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kairos.store.async_store import AsyncStore, Connection
from kairos.store.driver_errors import UNAVAILABLE
from kairos.store.query import Query
from kairos.worker.loop import Loop

# No queue has this name: it may not contain a control character.
_TEST = "\x01"
# Seconds after which a connection that is dead and was never closed is noticed.
PING_INTERVAL = 15.0
_LONGEST_ID = 19  # digits of a bigint


class Listener(Loop):
    """Listen on one connection: connect again when it is closed, and ping it, so that a half-open one is noticed too.

    A worker without notifications polls, and gets few jobs from a queue that notified workers serve too.

    A notification is only a hint to read the tables: every client of the database can send one.
    """

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
        self._is_receiving = False

    @property
    def is_connected(self) -> bool:
        """Whether the connection is open; behind a pooler an open connection may receive nothing."""
        return self._connection is not None and not self._connection.is_closed()

    @property
    def is_receiving(self) -> bool:
        """Whether the connection is open and has received a notification."""
        return self._is_receiving and self.is_connected

    async def tick(self) -> float:
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._store.connect(self._store.settings.direct_url)
            await self._connection.add_listener("kairos", self._on_queue_notified)
            await self._connection.add_listener("kairos_cancel", self._on_cancel_notified)
            self._is_receiving = False
            # Sent on another connection: behind a pooler LISTEN succeeds, and nothing ever arrives.
            await self._store.run(Query("notify_queues", ([_TEST],)))
            for wake in set(self._on_queue.values()):
                wake()  # a notification may have been missed
            self._connection.add_termination_listener(self._on_closed)
        await self._connection.fetchval("select 1", timeout=self._store.statement_timeout)
        return 0.0 if self._connection.is_closed() else PING_INTERVAL

    def failed(self, error: BaseException) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def close(self) -> None:
        if self._connection is not None:
            try:
                await self._connection.close(timeout=2)
            except UNAVAILABLE:
                self._connection.terminate()  # its server does not answer

    def _on_closed(self, connection: Any) -> None:
        if (
            connection is self._connection and self.seconds_in_tick == 0
        ):  # a running tick fails by itself, and backs off
            self.wake()

    def _on_queue_notified(self, _connection: Any, _pid: int, _channel: str, queue: str) -> None:
        self._is_receiving = True
        if queue in self._on_queue:
            self._on_queue[queue]()

    def _on_cancel_notified(self, _connection: Any, _pid: int, _channel: str, job_id: str) -> None:
        if job_id.isdecimal() and len(job_id) <= _LONGEST_ID:
            self._on_cancel(int(job_id))
