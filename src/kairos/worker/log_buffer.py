"""The buffer of log lines that are not written yet, each with the lease of the step that logged it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import NamedTuple

from kairos.store.array_literals import plain, texts
from kairos.store.query import Query

BATCH_LINES, BATCH_BYTES = 2000, 4 << 20
_SHARES = 4  # if several jobs have lines, each gets at most 1/_SHARES of a batch
_LINE_COST = 200  # bytes that a line takes besides its text


class Line(NamedTuple):
    """One log line, with the lease of the step that logged it."""

    job: int
    lease: int
    step: str
    attempt: int
    level: str
    line: str
    fields: str | None
    stream: str | None
    number: int
    at: float

    @property
    def size(self) -> int:
        return _LINE_COST + len(self.line) + len(self.fields or "")


class UnwrittenLines:
    """The unwritten lines of one job, and the commits that wait for them."""

    __slots__ = (
        "dropped",
        "last_dropped",
        "lines",
        "lost",
        "lost_leases",
        "note",
        "outcomes",
        "refusals",
        "reserved",
    )

    def __init__(self) -> None:
        self.lines: deque[Line] = deque()
        # When it was submitted, its lease, and what to call once the lines before it are stored or refused.
        self.outcomes: list[tuple[int, int, Callable[[bool], None]]] = []
        self.lost_leases: set[int] = set()
        self.dropped = 0
        self.last_dropped: Line | None = None
        self.reserved = False
        self.refusals = 0
        self.note: Line | None = None  # replaces lines that Postgres refused
        self.lost = 0  # how many lines `note` replaces

    def replace(self, batch: Sequence[Line], why: str) -> int:
        """Replace the first lines, which Postgres refused, by one error line; return how many were lost by that.

        If an earlier error line is among them, the new one counts its lines too; if it is the only one, it is dropped.
        """
        again = batch[0] is self.note
        fresh = len(batch) - again
        for _ in batch:
            self.lines.popleft()
        self.refusals = 0
        self.lost = fresh + (self.lost if again else 0)
        self.note = None
        if fresh:
            text = f"{self.lost} lines were dropped: {why}"
            self.note = batch[-1]._replace(level="error", line=text, fields=None, stream=None)
            self.lines.appendleft(self.note)
        return fresh


def next_batch(jobs: dict[int, UnwrittenLines], singly: bool) -> list[Line]:
    """Return the lines to write next: first of jobs whose commit waits, and of each job at most its share.

    A job whose lines are taken goes to the end, so that neither a job with many lines nor one whose row is locked
    delays the others. With `singly`, all lines are of one job, which stays where it is.
    """
    free = [each for each in jobs.items() if not each[1].reserved]
    free.sort(key=lambda each: not each[1].outcomes)
    shares = _SHARES if len(free) > 1 else 1
    batch: list[Line] = []
    room = BATCH_BYTES
    for job, unwritten in free:
        count, share = 0, BATCH_BYTES // shares
        for line in unwritten.lines:
            share -= line.size
            if count and (share < 0 or count >= BATCH_LINES // shares):
                break
            if batch and (room < line.size or len(batch) >= BATCH_LINES):
                return batch
            batch.append(line)
            room -= line.size
            count += 1
        if count and singly:
            return batch
        if count:
            jobs[job] = jobs.pop(job)
    return batch


def write_query(worker: str, batch: Sequence[Line], lease: timedelta) -> Query:
    """Return the statement that writes the lines; it gets the age of each, and uses the database's clock."""
    now = time.monotonic()
    return Query(
        "write_logs",
        (
            plain([line.job for line in batch]),
            plain([line.lease for line in batch]),
            plain([line.number for line in batch]),
            plain([int((now - line.at) * 1_000_000) for line in batch]),
            texts([line.level for line in batch]),
            texts([line.line for line in batch]),
            texts([line.fields for line in batch]),
            texts([line.step for line in batch]),
            plain([line.attempt for line in batch]),
            texts([line.stream for line in batch]),
            worker,
            lease,
        ),
    )


def by_job(batch: Sequence[Line]) -> Iterator[tuple[int, list[Line]]]:
    lines: dict[int, list[Line]] = {}
    for line in batch:
        lines.setdefault(line.job, []).append(line)
    yield from lines.items()
