"""Cache the stats, and read them at most once a second however many requests ask and for whichever window."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kairos import operations
from kairos.store.async_store import AsyncStore
from kairos.store.driver_errors import UNAVAILABLE, unavailable
from kairos.store.query import Query, Row, drive
from kairos.worker.stats_counter import StatsCounter

if TYPE_CHECKING:
    from kairos.api.app import Service
    from kairos.operations.stats import Stats

T = TypeVar("T")

FRESH = 1.0
_MINUTE, _HOUR = 60, 3600
# A window up to the first is rounded up to a multiple of the second. 66 are left; beyond a few minutes they are at most
# a quarter longer than asked.
_STEPS = (
    (20 * _MINUTE, _MINUTE),
    (_HOUR, 5 * _MINUTE),
    (6 * _HOUR, 15 * _MINUTE),
    (24 * _HOUR, _HOUR),
)


def rounded(window: int) -> int:
    """Round a window up, so that requests for any window share a few computations."""
    step = next((step for longest, step in _STEPS if window <= longest), _HOUR)
    return -(-window // step) * step


class StatsCache(AbstractAsyncContextManager["StatsCache"]):
    """Count new rows before reading the stats, so that they are fresh even if no worker runs.

    All requests for a window wait for the same task, which goes on if they leave. All windows share the statements
    that do not depend on the window; the tasks take turns, and use two connections at most.
    """

    def __init__(self, service: Service) -> None:
        self._kairos = service.state.kairos
        self._counter: StatsCounter | None = None
        self._counting = asyncio.Lock()
        self._next_count: asyncio.Task[None] | None = None
        self._reading = asyncio.Lock()
        self._reads: dict[int, asyncio.Task[Stats]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        # When the stats were read, the rows of their statements, and what was computed from these for each window.
        self._at = -FRESH
        self._rows: dict[Query, Sequence[Row]] = {}
        self._stats: dict[int, Stats] = {}

    async def __aexit__(self, *error: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def read(self, window: int) -> Stats:
        """Return the stats of the last `window` seconds, which are rounded up, at most a second old."""
        window = rounded(window)
        if self._is_fresh() and window in self._stats:
            return self._stats[window]
        if window not in self._reads:
            self._reads[window] = self._start(self._read(window))
        return await asyncio.shield(self._reads[window])

    async def count(self) -> None:
        """Count new rows now. All who ask while rows are being counted share the next count."""
        if self._next_count is None:
            self._next_count = self._start(self._count())
        await asyncio.shield(self._next_count)

    async def _read(self, window: int) -> Stats:
        try:
            async with self._reading:
                fresh = self._is_fresh()
                if not fresh:
                    await self.count()
                rows = self._rows if fresh else {}
                found = await drive(operations.stats(window), partial(self._run_once, rows))
                if not fresh:
                    self._at, self._rows, self._stats = time.monotonic(), rows, {}
                self._stats[window] = found
                return found
        finally:
            del self._reads[window]

    async def _count(self) -> None:
        async with self._counting:
            self._next_count = None  # rows inserted from now on may be missed
            store = await self._open()
            if self._counter is None:
                self._counter = StatsCounter(store)
            try:
                await self._counter.tick()
            except UNAVAILABLE as error:
                raise unavailable(error) from error

    async def _run_once(self, rows: dict[Query, Sequence[Row]], query: Query) -> Sequence[Row]:
        """Return the rows of a statement; run it if they are not known yet."""
        if query not in rows:
            rows[query] = await (await self._open()).run(query)
        return rows[query]

    async def _open(self) -> AsyncStore:
        await self._kairos.open()
        store: AsyncStore = self._kairos.store
        return store

    def _is_fresh(self) -> bool:
        return time.monotonic() - self._at < FRESH

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # all who waited for it may have left


class MetricsCache(StatsCache):
    """The stats for `/metrics`, read over a connection of its own.

    A scrape never waits for other requests, neither for their stats nor for a connection: when it has to wait, it is
    for the database.
    """

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        self._own: AsyncStore | None = None

    async def __aexit__(self, *error: object) -> None:
        await super().__aexit__(*error)
        if self._own is not None:
            await self._own.close()

    async def _open(self) -> AsyncStore:
        if self._own is None:
            shared = await super()._open()
            self._own = AsyncStore(shared.url, replace(shared.settings, pool_size=2))
        return self._own
