"""A worker's periodic statements: its heartbeat, the poll for cancel requests, and progress."""

from __future__ import annotations

import asyncio
import math
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from kairos.store.async_store import AsyncStore
from kairos.store.query import Query
from kairos.worker.executor import Executor
from kairos.worker.loop import Loop

# Seconds between two polls for cancel requests, however many notifications come.
_POLL_AT_MOST_EVERY = 0.05
_INTERVAL = 10.0


@dataclass(frozen=True, slots=True)
class Condition:
    """The health of a worker.

    `unknown` are actions that it picked lately and has no code for, `stale` counts its refused commits, `listening`
    says whether notifications arrive, and `blocked_by` is the session that blocks its commits.
    """

    unknown: list[str]
    stale: int
    listening: bool
    blocked_by: str | None = None


class Heartbeat(Loop):
    """Update the worker's row with its health every 10 s, and delete the rows of workers long gone."""

    name = "heartbeat"

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
    ) -> None:
        super().__init__()
        self._store = store
        self._row = (worker, socket.gethostname(), os.getpid(), queues, actions, concurrency)
        self._machines = machines
        self._retention = retention
        self._condition = condition
        self._on_drain = on_drain
        self._skew: timedelta | None = None  # as the last heartbeat measured it
        self.stopping = False

    async def tick(self) -> float:
        first = self._skew is None
        await self._save_row()
        # The first heartbeat measures the clock skew; a second one saves it at once.
        return 0.0 if first else _INTERVAL

    async def _save_row(self) -> None:
        condition = self._condition()
        health = (
            self.stopping,
            self._machines,
            condition.unknown,
            condition.stale,
            self._skew,
            condition.listening,
            self._retention,
            condition.blocked_by,
        )
        began = datetime.now(UTC)
        rows = await self._store.run(Query("save_worker", (*self._row, *health)))
        self._skew = skew(began, datetime.now(UTC), rows[0]["clock"])
        if rows[0]["drain"] and not self.stopping:
            self._on_drain()

    def announce_stop(self) -> None:
        """Save at once that the worker is stopping."""
        self.stopping = True
        self.wake()

    async def leave(self) -> None:
        """Delete the worker's row, and those of workers that were lost more than a day ago."""
        await self._save_row()  # save the commits refused since the last heartbeat
        await self._store.run(Query("remove_worker", (self._row[0], timedelta(days=1))))


def skew(began: datetime, ended: datetime, clock: datetime) -> timedelta:
    """Return the smallest possible skew between our clock and the server's.

    Our clock read `began` before a call and `ended` after it; the server read `clock` at some time during the call.
    """
    if began <= clock <= ended:
        return timedelta(0)
    return began - clock if began > clock else ended - clock


class CancelWatch(Loop):
    """Poll for cancel requests for running jobs: at a notification, and every second while a job runs.

    A notification is only a hint: every client of the database can send one, and all schemas share the channel. The
    cancel request itself is in the job's row.
    """

    name = "cancel watch"

    def __init__(self, store: AsyncStore, executor: Executor, on_cancel: Callable[[int], None]) -> None:
        super().__init__()
        self._store = store
        self._executor = executor
        self._on_cancel = on_cancel
        self._asked_at = -math.inf
        self._hinted = False

    async def tick(self) -> float:
        running = [job for job, each in self._executor.running.items() if not each.ctx.cancel_requested]
        if running:
            for row in await self._store.run(Query("find_cancel_requests", (running,))):
                self._on_cancel(row["id"])
        self._asked_at = time.monotonic()
        return 1.0

    def hint(self, job_id: int) -> None:
        """Poll soon, because a notification says that the job was cancelled; at most 20 times a second."""
        if job_id not in self._executor.running or self._hinted:
            return
        self._hinted = True
        pause = max(0.0, self._asked_at + _POLL_AT_MOST_EVERY - time.monotonic())
        asyncio.get_running_loop().call_later(pause, self._poll_now)

    def _poll_now(self) -> None:
        self._hinted = False
        self.wake()


class Progress(Loop):
    """Write the progress of all steps in one statement, at most twice a second."""

    name = "progress"

    def __init__(self, store: AsyncStore, worker: str) -> None:
        super().__init__()
        self._store = store
        self._worker = worker
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
        report = (list(latest), list(leases), list(values), self._worker)
        busy = await self._store.run(Query("report_progress", report))
        self._latest = {row["id"]: latest[row["id"]] for row in busy} | self._latest
        return 0.5
