"""Wait for jobs to end on behalf of any number of requests, with one statement for all of them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from kairos.errors import DatabaseUnavailable
from kairos.logger import Logger
from kairos.store.query import Query

if TYPE_CHECKING:
    from kairos.api.app import Service

log = Logger("kairos.api")

_POLL_INTERVAL = 0.1
_OUTAGE_PAUSE = 1.0


class JobWaiters:
    """Poll ten times a second for the jobs that requests wait for; while no request waits, do not poll.

    A waiting request holds no database connection.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._waiting: dict[int, set[asyncio.Future[None]]] = defaultdict(set)
        self._has_waiters = asyncio.Event()

    async def __aenter__(self) -> JobWaiters:
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *error: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def waiting_for(self, job_id: int) -> int:
        """Return how many requests wait for the job."""
        return len(self._waiting.get(job_id, ()))

    async def wait(self, job_id: int, seconds: float, client_done: asyncio.Event | None = None) -> None:
        """Wait until the job has ended, the time is over, the client is done, or the service stops."""
        done = asyncio.get_running_loop().create_future()
        self._waiting[job_id].add(done)
        self._has_waiters.set()
        ends = [self._service.stopping] if client_done is None else [self._service.stopping, client_done]
        stops = [asyncio.create_task(each.wait()) for each in ends]
        try:
            awaited = {done, self._task, *stops}
            await asyncio.wait(awaited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if self._task.done():
                self._task.result()  # the poller died of a bug: raise its error
        finally:
            for each in stops:
                each.cancel()
            self._waiting[job_id].discard(done)
            if not self._waiting[job_id]:
                del self._waiting[job_id]

    async def _watch(self) -> None:
        while True:
            if not self._waiting:
                self._has_waiters.clear()
                await self._has_waiters.wait()
            pause = _POLL_INTERVAL
            try:
                store = self._service.state.kairos.store
                for row in await store.run(Query("find_ended_jobs", (list(self._waiting),))):
                    for done in self._waiting.get(row["id"], ()):
                        if not done.done():
                            done.set_result(None)
            except DatabaseUnavailable as error:
                log.warning("waiting for jobs: the database is unavailable", error=error.message)
                pause = _OUTAGE_PAUSE
            await asyncio.sleep(pause)
