"""What a worker says of itself, and asks about its jobs, every now and then."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from kairos.store.pool import AsyncStore
from kairos.store.query import Query
from kairos.worker.executor import Executor
from kairos.worker.loop import Loop


@dataclass(frozen=True, slots=True)
class Condition:
    """How a worker fares: which actions it was lately given and does not know, how many of its commits were
    refused, and whether it hears LISTEN.
    """

    unknown: list[str]
    stale: int
    listening: bool


class Beat(Loop):
    """Keeps the worker's row fresh, says how it fares, and forgets workers long gone."""

    name = "beat"

    def __init__(
        self,
        store: AsyncStore,
        worker: str,
        queues: list[str],
        actions: list[str],
        concurrency: int,
        machines: list[str],
        retention: timedelta,
        condition: Callable[[], Condition],
        on_drain: Callable[[], None] = lambda: None,
        interval: float = 10.0,
    ) -> None:
        super().__init__()
        self._store = store
        self._row = (worker, socket.gethostname(), os.getpid(), queues, actions, concurrency)
        self._machines = machines
        self._retention = retention
        self._condition = condition
        self._on_drain = on_drain
        self._interval = interval
        self._skew: timedelta | None = None  # as the last beat measured it
        self.stopping = False

    async def tick(self) -> float:
        first = self._skew is None
        await self._say()
        return (
            0.0 if first else self._interval
        )  # how far the clock is off is told at once, not with the next beat

    async def _say(self) -> None:
        how = self._condition()
        told = (
            self.stopping,
            self._machines,
            how.unknown,
            how.stale,
            self._skew,
            how.listening,
            self._retention,
        )
        began = datetime.now(UTC)
        rows = await self._store.run(Query("save_worker", (*self._row, *told)))
        self._skew = skew(began, datetime.now(UTC), rows[0]["clock"])
        if rows[0]["drain"] and not self.stopping:
            self._on_drain()

    def say_stopping(self) -> None:
        self.stopping = True
        self.wake()

    async def leave(self) -> None:
        await self._say()  # what was refused since the last beat would leave with us
        await self._store.run(Query("remove_worker", (self._row[0], timedelta(days=1))))


def skew(began: datetime, ended: datetime, clock: datetime) -> timedelta:
    """How far a clock that read `began` and `ended` around a call is off the one that read `clock` during it.

    As little as can be true: the answer may have been read at any time in between.
    """
    if began <= clock <= ended:
        return timedelta(0)
    return began - clock if began > clock else ended - clock


class CancelWatch(Loop):
    """The floor under the hints to cancel: asks while anything runs, and is silent otherwise."""

    name = "cancel watch"

    def __init__(self, store: AsyncStore, executor: Executor, on_cancel: Callable[[int], None]) -> None:
        super().__init__()
        self._store = store
        self._executor = executor
        self._on_cancel = on_cancel

    async def tick(self) -> float:
        running = [job for job, each in self._executor.running.items() if not each.ctx.cancel_requested]
        if running:
            for row in await self._store.run(Query("cancelled_jobs", (running,))):
                self._on_cancel(row["id"])
        return 1.0


class Progress(Loop):
    """Writes how far steps have come, in one statement for all of them, at most twice a second."""

    name = "progress"

    def __init__(self, store: AsyncStore) -> None:
        super().__init__()
        self._store = store
        self._latest: dict[int, tuple[int, str]] = {}

    def report(self, job_id: int, lease: int, progress: str) -> None:
        self._latest[job_id] = (lease, progress)
        if len(self._latest) == 1:
            self.wake()

    async def tick(self) -> float:
        latest, self._latest = self._latest, {}
        if not latest:
            return 3600.0
        leases, values = zip(*latest.values(), strict=True)
        busy = await self._store.run(Query("report_progress", (list(latest), list(leases), list(values))))
        self._latest = {row["id"]: latest[row["id"]] for row in busy} | self._latest
        return 0.5
