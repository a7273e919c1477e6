"""Writes what steps say: one writer for a worker, many lines of many jobs in one statement, fenced by their leases."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import count, islice

from kairos.store.faults import PASSING, REFUSED
from kairos.store.pool import AsyncStore
from kairos.store.query import Query, Row
from kairos.worker.lines import Line, Waiting, by_job, next_batch, write_query
from kairos.worker.logs import Log
from kairos.worker.loop import Loop

log = Log("kairos.worker")

# The first line goes out at once; what is said within so many seconds of it goes together.
WINDOW = 0.02
MAX_LINES = 10_000  # of one job that wait to be written
MAX_BYTES = 64 << 20  # of all jobs
_TELL_EVERY = 5.0  # seconds between two words to the program's log about lines that were dropped
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
        self._untold: Counter[int] = Counter()  # dropped lines that the program's log was not told of
        self._told_at = -_TELL_EVERY
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
        # Nothing in here may log: that may be printed, and what a captured step prints comes back here.
        with self._lock:
            # Numbered where it is put in line: what comes after a higher number is taken for written.
            number = next(self._numbers)
            said = Line(job, lease, step, attempt, level, line, fields, stream, number, time.monotonic())
            waiting = self._jobs.get(job)
            if waiting is None:
                waiting = self._jobs[job] = Waiting()
            if len(waiting.lines) >= MAX_LINES or self._bytes + said.size > MAX_BYTES:
                waiting.dropped += 1
                waiting.last_dropped = said
                self.dropped += 1
                self._untold[job] += 1
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

    def take_back(self, job: int, lent: Sequence[Line], rows: Sequence[Row]) -> None:
        """The loan is over: lines that the rows do not answer for are written as usual."""
        if (waiting := self._jobs.get(job)) is not None:
            waiting.lent = False
            self._acknowledge(lent, rows)
            self.wake()

    async def drained(self) -> None:
        """Wait until everything said is written or refused; a database that is away is waited for."""
        for look in count():
            if not self._jobs:
                self._report(at_once=True)
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
        if self._jobs:
            return WINDOW
        return _TELL_EVERY if self._untold else 3600.0

    async def flush(self) -> None:
        """One statement with what there is, as much as fits."""
        self._report()
        with self._lock:
            for waiting in self._jobs.values():
                self._tell_dropped(waiting)
            batch = next_batch(self._jobs, self._singly)
        if not batch:
            return
        self._under_way = frozenset(line.job for line in batch)
        try:
            rows = await self._store.run(self.query(batch))
        except PASSING:
            raise
        except REFUSED as error:
            self._refusal(error, batch)
        else:
            self._singly = False
            self._acknowledge(batch, rows)
        finally:
            self._under_way = frozenset()
            self._flushed_at = time.monotonic()

    def _acknowledge(self, batch: Sequence[Line], rows: Sequence[Row]) -> None:
        answers = {(row["id"], row["lease"]): row["answer"] for row in rows}
        stale: dict[int, int] = {}
        for job, lines in by_job(batch):
            gone = 0
            for line in lines:
                answer = answers.get((line.job, line.lease), "busy")
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
        text = f"{waiting.dropped} lines were dropped: they came faster than they could be written."
        told = waiting.last_dropped._replace(level="error", line=text, fields=None, stream=None)
        waiting.lines.append(told)
        self._bytes += told.size
        waiting.dropped, waiting.last_dropped = 0, None

    def _report(self, at_once: bool = False) -> None:
        """Tell the program's log of dropped lines: not in a storm, and never under the lock."""
        now = time.monotonic()
        with self._lock:
            if not self._untold or (now < self._told_at + _TELL_EVERY and not at_once):
                return
            untold, self._untold = self._untold, Counter()
            self._told_at = now
        ((most, _),) = untold.most_common(1)
        log.error("lines were dropped", lines=sum(untold.values()), jobs=len(untold), job=most)

    def _refusal(self, error: BaseException, batch: Sequence[Line]) -> None:
        """Lines that Postgres will not take must hold up neither those of other jobs nor their own outcome.

        A first sending whose answer was lost may still be under way, and makes the second one collide: so
        the same lines are tried a few times.
        """
        log.error("lines were refused", error=str(error), jobs=len(self._under_way))
        if len(self._under_way) > 1:
            self._singly = True
            return
        job = batch[0].job
        with self._lock:
            waiting = self._jobs[job]
            waiting.refusals += 1
            if waiting.refusals < _TRIES:
                return
            before = sum(line.size for line in batch)
            lost = waiting.replace(batch, _NOT_TAKEN)
            self._bytes -= before - (waiting.note.size if waiting.note is not None else 0)
            self.dropped += lost
            if lost:
                self._untold[job] += lost
        self._forget(job, waiting, 0)
