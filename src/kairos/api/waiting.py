"""Waiting for jobs to end: any number of requests, one statement for all of them at a time."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from types import TracebackType
from typing import TYPE_CHECKING

import structlog

from kairos.errors import DatabaseUnavailable
from kairos.store.query import Query

if TYPE_CHECKING:
    from kairos.api.app import Service

log = structlog.get_logger("kairos.api")

_PACE = 0.1
_AWAY = 1.0


class Waiters:
    """Looks ten times a second for what somebody waits for, and not at all while nobody does.

    A request that waits holds neither a connection nor a statement of its own.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._waiting: dict[int, set[asyncio.Future[None]]] = defaultdict(set)
        self._somebody = asyncio.Event()

    async def __aenter__(self) -> Waiters:
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def ended(self, job_id: int, seconds: float) -> None:
        """Until the job has ended, the time is over, or the service is told to stop."""
        done = asyncio.get_running_loop().create_future()
        self._waiting[job_id].add(done)
        self._somebody.set()
        stop = asyncio.create_task(self._service.stopping.wait())
        try:
            await asyncio.wait({done, stop, self._task}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if self._task.done():
                self._task.result()  # a bug: told to whoever waits
        finally:
            stop.cancel()
            self._waiting[job_id].discard(done)
            if not self._waiting[job_id]:
                del self._waiting[job_id]

    async def _watch(self) -> None:
        while True:
            if not self._waiting:
                self._somebody.clear()
                await self._somebody.wait()
            pause = _PACE
            try:
                store = self._service.state.kairos.store
                for row in await store.run(Query("ended_jobs", (list(self._waiting),))):
                    for done in self._waiting.get(row["id"], ()):
                        if not done.done():
                            done.set_result(None)
            except DatabaseUnavailable as error:
                log.warning("whether jobs ended cannot be seen just now", error=error.message)
                pause = _AWAY
            await asyncio.sleep(pause)
