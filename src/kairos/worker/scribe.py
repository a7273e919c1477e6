"""Writes what steps say: one writer for a worker, many lines of many jobs in one statement, fenced by their leases."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import count, islice

from kairos.store.faults import REFUSED
from kairos.store.pool import AsyncStore
from kairos.store.query import Query, Row
from kairos.worker.lines import Line, Waiting, by_job, write_query
from kairos.worker.logs import Log
from kairos.worker.loop import Loop

log = Log("kairos.worker")

# The first line goes out at once; what is said within so many seconds of it goes together.
WINDOW = 0.02
MAX_LINES = 10_000  # of one job that wait to be written
MAX_BYTES = 64 << 20  # of all jobs
_BATCH_LINES, _BATCH_BYTES = 2000, 4 << 20
_TRIES = 3
_NOT_TAKEN = "Postgres would not take them."


class Scribe(Loop):
    """A line leaves its buffer only once it is known to be written, or refused as a zombie's."""

    name = "scribe"

    def __init__(self, store: AsyncStore, worker: str, lease: timedelta) -> None:
        super().__init__()
        self._store = store
        self._worker = worker
        self._lease = lease
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()  # steps speak from threads
        self._jobs: dict[int, Waiting] = {}
        self._numbers = count(1)
        self._bytes = 0
        self._flushed_at = 0.0
        self._asleep = True
        self._under_way: frozenset[int] = frozenset()
        self._singly = False
        self.written = 0
        self.refused = 0
        self.dropped = 0

    def say(
        self,
        job: int,
        lease: int,
        step: str,
        attempt: int,
        level: str,
        line: str,
        fields: str | None,
        stream: str | None,
    ) -> None:
        """Take one line, from any thread. Never waits and never fails: where there is no room, it counts."""
        said = Line(
            job, lease, step, attempt, level, line, fields, stream, next(self._numbers), time.monotonic()
        )
        with self._lock:
            waiting = self._jobs.get(job)
            if waiting is None:
                waiting = self._jobs[job] = Waiting()
            if len(waiting.lines) >= MAX_LINES or self._bytes + said.size > MAX_BYTES:
                waiting.dropped += 1
                waiting.last_dropped = said
                self.dropped += 1
                return
            self._tell_dropped(waiting)
            waiting.lines.append(said)
            self._bytes += said.size
            wake, self._asleep = self._asleep, False
        if wake:
            with suppress(RuntimeError):  # a thread that outlived the loop: nobody writes any more
                self._loop.call_soon_threadsafe(self.wake)

    # What the flusher asks

    def owes(self, job: int) -> bool:
        """Whether lines of the job are still to be written."""
        return job in self._jobs

    def before(self, job: int, commit: Callable[[], None]) -> None:
        """Write what the job has said so far, at once, and then let its outcome be committed."""
        with self._lock:
            self._jobs[job].outcomes.append((next(self._numbers), commit))
        if not self._failures:  # a database that is away is not asked more often for it
            self.wake()

    async def lend(self, job: int) -> list[Line]:
        """The lines of a job whose outcome is committed by its own transaction, to be written there."""
        while job in self._under_way:
            await asyncio.sleep(0.002)
        with self._lock:
            if (waiting := self._jobs.get(job)) is None:
                return []
            waiting.lent = True
            self._tell_dropped(waiting)
            return list(waiting.lines)

    def take_back(self, job: int, written: int) -> None:
        """The loan is over: so many of the lines were committed, the others are written as usual."""
        if (waiting := self._jobs.get(job)) is not None:
            waiting.lent = False
            self.written += written
            self._forget(job, waiting, written)
            self.wake()

    async def drained(self) -> None:
        """Wait until everything said is written or refused; a database that is away is waited for."""
        for look in count():
            if not self._jobs:
                return
            if look % 50 == 0:
                self.wake()  # also out of a backoff, but not in a storm
            await asyncio.sleep(0.005)

    def left(self) -> int:
        """How many lines are not written."""
        with self._lock:
            return sum(len(each.lines) + each.dropped for each in self._jobs.values())

    # Writing

    def query(self, lines: Sequence[Line]) -> Query:
        """The statement that writes the lines."""
        return write_query(self._worker, lines, self._lease)

    async def tick(self) -> float:
        wait = self._flushed_at + WINDOW - time.monotonic()
        with self._lock:
            urgent = any(each.outcomes for each in self._jobs.values())
        if wait > 0 and not urgent:
            return wait
        await self.flush()
        with self._lock:
            self._asleep = not self._jobs
        return WINDOW if self._jobs else 3600.0

    async def flush(self) -> None:
        """One statement with what there is, as much as fits."""
        batch = self._batch()
        if not batch:
            return
        self._under_way = frozenset(line.job for line in batch)
        try:
            rows = await self._store.run(self.query(batch))
        except REFUSED as error:
            self._refusal(error)
        else:
            self._singly = False
            self._acknowledge(batch, rows)
        finally:
            self._under_way = frozenset()
            self._flushed_at = time.monotonic()

    def _batch(self) -> list[Line]:
        batch: list[Line] = []
        room = _BATCH_BYTES
        with self._lock:
            for waiting in self._jobs.values():
                if waiting.lent:
                    continue
                self._tell_dropped(waiting)
                for line in waiting.lines:
                    room -= line.size
                    if batch and (room < 0 or len(batch) >= _BATCH_LINES):
                        return batch
                    batch.append(line)
                if self._singly and batch:
                    return batch
        return batch

    def _acknowledge(self, batch: Sequence[Line], rows: Sequence[Row]) -> None:
        answers = {(row["id"], row["lease"]): row["answer"] for row in rows}
        stale: dict[int, int] = {}
        for job, lines in by_job(batch):
            gone = 0
            for line in lines:
                answer = answers[line.job, line.lease]
                if answer == "busy":
                    break
                gone += 1
                if answer == "stale":
                    stale[job] = stale.get(job, 0) + 1
                else:
                    self.written += 1
            self._forget(job, self._jobs[job], gone)
        for job, lines_lost in stale.items():
            self.refused += lines_lost
            log.warning("lines of a lost lease refused", job=job, lines=lines_lost)

    def _forget(self, job: int, waiting: Waiting, gone: int) -> None:
        """The first so many lines need not be kept any longer; outcomes that waited for them may go."""
        with self._lock:
            for line in islice(waiting.lines, gone):
                self._bytes -= line.size
            for _ in range(gone):
                waiting.lines.popleft()
            waiting.refusals = 0
            self._tell_dropped(waiting)
            oldest = waiting.lines[0].said if waiting.lines else next(self._numbers)
            ready = [commit for said, commit in waiting.outcomes if said < oldest]
            waiting.outcomes = [each for each in waiting.outcomes if each[0] >= oldest]
            if not waiting.lines:
                del self._jobs[job]
        for commit in ready:
            commit()

    def _tell_dropped(self, waiting: Waiting) -> None:
        """One loud line in the place of those that found no room; under the lock."""
        if not waiting.dropped or len(waiting.lines) >= MAX_LINES or waiting.last_dropped is None:
            return
        log.error("lines were dropped", job=waiting.last_dropped.job, lines=waiting.dropped)
        text = f"{waiting.dropped} lines were dropped: they came faster than they could be written."
        told = waiting.last_dropped._replace(level="error", line=text, fields=None, stream=None)
        waiting.lines.append(told)
        self._bytes += told.size
        waiting.dropped, waiting.last_dropped = 0, None

    def _refusal(self, error: BaseException) -> None:
        """Lines that Postgres will not take must hold up neither those of other jobs nor their own outcome.

        A first sending whose answer was lost may still be under way, and makes the second one collide: so
        the same lines are tried a few times.
        """
        log.error("lines were refused", error=str(error), jobs=len(self._under_way))
        if len(self._under_way) > 1:
            self._singly = True
            return
        (job,) = self._under_way
        waiting = self._jobs[job]
        waiting.refusals += 1
        if waiting.refusals < _TRIES:
            return
        lost = len(waiting.lines)
        told = waiting.lines[-1]._replace(
            level="error", line=f"{lost} lines were dropped: {_NOT_TAKEN}", fields=None, stream=None
        )
        if waiting.lines[0].line.endswith(_NOT_TAKEN):
            self._forget(job, waiting, lost)  # it would not take that either
            return
        self.dropped += lost
        with self._lock:
            self._bytes -= sum(line.size for line in waiting.lines) - told.size
            waiting.lines = deque([told])
            waiting.refusals = 0
