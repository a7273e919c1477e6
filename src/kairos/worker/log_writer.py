"""Write the log lines of steps: many lines of many jobs in one statement, fenced by their leases."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import count, islice

from kairos.logger import Logger
from kairos.store.async_store import AsyncStore
from kairos.store.driver_errors import PASSING, REFUSED
from kairos.store.query import Query, Row
from kairos.worker.log_buffer import Line, UnwrittenLines, by_job, next_batch, write_query
from kairos.worker.loop import Loop

log = Logger("kairos.worker")

# The first line is written at once; lines that follow within `WINDOW` seconds are written together.
WINDOW = 0.02
MAX_LINES = 10_000  # unwritten lines of one job
MAX_BYTES = 64 << 20  # unwritten bytes of all jobs
_REPORT_INTERVAL = 5.0  # seconds between two reports of dropped lines in the program's log
_TRIES = 3
_REFUSED = "Postgres refused them."


class LogWriter(Loop):
    """Keep each line in its buffer until it is written, or refused because its lease was lost."""

    name = "log writer"

    def __init__(
        self,
        store: AsyncStore,
        worker: str,
        lease: timedelta,
        on_lost: Callable[[int, int], None] = lambda job, lease: None,
    ) -> None:
        """`on_lost` is called with the job and the lease of lines that were refused because the lease was lost."""
        super().__init__()
        self._store = store
        self._worker = worker
        self._lease = lease
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()  # steps log from threads
        self._jobs: dict[int, UnwrittenLines] = {}
        self._numbers = count(1)
        self._bytes = 0
        self._flushed_at = 0.0
        self._asleep = True
        self._under_way: frozenset[int] = frozenset()
        self._one_job_at_a_time = False
        # Dropped lines by job, not yet reported in the program's log.
        self._unreported: Counter[int] = Counter()
        self._reported_at = -_REPORT_INTERVAL
        self.written = 0
        self.refused = 0
        self.dropped = 0

    def add(
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
        """Buffer one line, from any thread. Never blocks or raises: if the buffer is full, the line is counted."""
        # Nothing here may log: the line may be printed, and captured output comes back here.
        with self._lock:
            # Numbered under the lock: a line after a higher number would count as already written.
            number = next(self._numbers)
            added = Line(job, lease, step, attempt, level, line, fields, stream, number, time.monotonic())
            unwritten = self._jobs.get(job)
            if unwritten is None:
                unwritten = self._jobs[job] = UnwrittenLines()
            if len(unwritten.lines) >= MAX_LINES or self._bytes + added.size > MAX_BYTES:
                unwritten.dropped += 1
                unwritten.last_dropped = added
                self.dropped += 1
                self._unreported[job] += 1
                return
            self._add_dropped_note(unwritten)
            unwritten.lines.append(added)
            self._bytes += added.size
            wake, self._asleep = self._asleep, False
        if wake:
            with suppress(
                RuntimeError
            ):  # the thread outlived the event loop, and nothing is written any more
                self._loop.call_soon_threadsafe(self.wake)

    async def room(self, job: int) -> None:
        """Wait while the job has more than half of the lines that may be unwritten, but not during an outage."""
        while not self._failures and len(self._jobs.get(job, UnwrittenLines()).lines) > MAX_LINES // 2:
            await asyncio.sleep(WINDOW)

    # Called by the flusher

    def has_lines(self, job: int) -> bool:
        """Whether the job has unwritten lines."""
        return job in self._jobs

    def commit_after_lines(self, job: int, lease: int, commit: Callable[[bool], None]) -> None:
        """Write the job's lines at once, then call `commit` with whether those of this lease are stored."""
        with self._lock:
            self._jobs[job].outcomes.append((next(self._numbers), lease, commit))
        if not self._failures:  # during an outage the backoff stays in force
            self.wake()

    async def reserve(self, job: int) -> list[Line]:
        """Reserve the lines of a job, to be written by the transaction of its step, which commits its outcome."""
        while job in self._under_way:
            await asyncio.sleep(0.002)
        with self._lock:
            if (unwritten := self._jobs.get(job)) is None:
                return []
            unwritten.reserved = True
            self._add_dropped_note(unwritten)
            return list(unwritten.lines)

    def release(self, job: int, reserved: Sequence[Line], rows: Sequence[Row]) -> None:
        """Release reserved lines: those that the rows do not confirm are written as usual."""
        if (unwritten := self._jobs.get(job)) is not None:
            unwritten.reserved = False
            self._acknowledge(reserved, rows)
            self.wake()

    async def drained(self) -> None:
        """Wait until every line is written or refused, also during an outage of the database."""
        for turn in count():
            if not self._jobs:
                self._report(at_once=True)
                return
            if turn % 50 == 0:
                self.wake()  # ends a backoff, four times a second
            await asyncio.sleep(0.005)

    def unwritten_lines(self) -> int:
        """Return how many lines are not written."""
        with self._lock:
            return sum(len(each.lines) + each.dropped for each in self._jobs.values())

    @property
    def unwritten_bytes(self) -> int:
        """How much memory the unwritten lines take."""
        return self._bytes

    # Writing

    def query(self, lines: Sequence[Line]) -> Query:
        """Return the statement that writes the lines."""
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
        return _REPORT_INTERVAL if self._unreported else 3600.0

    async def flush(self) -> None:
        """Write one batch of lines."""
        self._report()
        with self._lock:
            for unwritten in self._jobs.values():
                self._add_dropped_note(unwritten)
            batch = next_batch(self._jobs, self._one_job_at_a_time)
        if not batch:
            return
        self._under_way = frozenset(line.job for line in batch)
        try:
            rows = await self._store.run(self.query(batch))
        except PASSING:
            raise
        except REFUSED as error:
            self._handle_refusal(error, batch)
        else:
            self._one_job_at_a_time = False
            self._acknowledge(batch, rows)
        finally:
            self._under_way = frozenset()
            self._flushed_at = time.monotonic()

    def _acknowledge(self, batch: Sequence[Line], rows: Sequence[Row]) -> None:
        answers = {(row["id"], row["lease"]): row["answer"] for row in rows}
        stale: Counter[tuple[int, int]] = Counter()
        for job, lines in by_job(batch):
            gone = 0
            for line in lines:
                answer = answers.get((line.job, line.lease), "busy")
                if answer == "busy":
                    break
                gone += 1
                if answer == "stale":
                    stale[job, line.lease] += 1
                    self._jobs[job].lost_leases.add(line.lease)
                else:
                    self.written += 1
            self._remove(job, self._jobs[job], gone)
        for (job, lease), lines_lost in stale.items():
            self.refused += lines_lost
            log.warning("log lines of a lost lease refused", job=job, lines=lines_lost)
            self._on_lost(job, lease)

    def _remove(self, job: int, unwritten: UnwrittenLines, gone: int) -> None:
        """Remove the first `gone` lines, and call the commits that waited for them."""
        with self._lock:
            for line in islice(unwritten.lines, gone):
                self._bytes -= line.size
            for _ in range(gone):
                unwritten.lines.popleft()
            unwritten.refusals = 0
            self._add_dropped_note(unwritten)
            oldest = unwritten.lines[0].number if unwritten.lines else next(self._numbers)
            ready = [(lease, commit) for number, lease, commit in unwritten.outcomes if number < oldest]
            unwritten.outcomes = [each for each in unwritten.outcomes if each[0] >= oldest]
            if not unwritten.lines:
                del self._jobs[job]
        for lease, commit in ready:
            commit(lease not in unwritten.lost_leases)

    def _add_dropped_note(self, unwritten: UnwrittenLines) -> None:
        """Add an error line in place of the dropped ones; the caller holds the lock."""
        if not unwritten.dropped or len(unwritten.lines) >= MAX_LINES or unwritten.last_dropped is None:
            return
        text = f"{unwritten.dropped} lines were dropped: they came faster than they could be written."
        note = unwritten.last_dropped._replace(level="error", line=text, fields=None, stream=None)
        unwritten.lines.append(note)
        self._bytes += note.size
        unwritten.dropped, unwritten.last_dropped = 0, None

    def _report(self, at_once: bool = False) -> None:
        """Report dropped lines in the program's log, at most every 5 s and never under the lock."""
        now = time.monotonic()
        with self._lock:
            if not self._unreported or (now < self._reported_at + _REPORT_INTERVAL and not at_once):
                return
            dropped, self._unreported = self._unreported, Counter()
            self._reported_at = now
        ((most, _),) = dropped.most_common(1)
        log.error("log lines were dropped", lines=sum(dropped.values()), jobs=len(dropped), job=most)

    def _handle_refusal(self, error: BaseException, batch: Sequence[Line]) -> None:
        """Handle a batch that Postgres refused: it must delay neither other jobs nor the commit of its own.

        The jobs are tried one by one. The same lines are tried a few times, because an earlier statement whose answer
        was lost may still be running and collide with them.
        """
        log.error("log lines were refused", error=str(error), jobs=len(self._under_way))
        if len(self._under_way) > 1:
            self._one_job_at_a_time = True
            return
        job = batch[0].job
        with self._lock:
            unwritten = self._jobs[job]
            unwritten.refusals += 1
            if unwritten.refusals < _TRIES:
                return
            before = sum(line.size for line in batch)
            lost = unwritten.replace(batch, _REFUSED)
            self._bytes -= before - (unwritten.note.size if unwritten.note is not None else 0)
            self.dropped += lost
            if lost:
                self._unreported[job] += lost
        self._remove(job, unwritten, 0)
