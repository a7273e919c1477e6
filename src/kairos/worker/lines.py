"""What steps said and is not written yet: lines, each with the lease under which it was said."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import NamedTuple

from kairos.store.columns import plain, texts
from kairos.store.query import Query

BATCH_LINES, BATCH_BYTES = 2000, 4 << 20
_SHARES = 4  # a job that is not alone gets one of so many parts of a batch
_LINE_COST = 200  # what a line takes besides its text


class Line(NamedTuple):
    """One line, with the lease under which it was said."""

    job: int
    lease: int
    step: str
    attempt: int
    level: str
    line: str
    fields: str | None
    stream: str | None
    said: int
    at: float

    @property
    def size(self) -> int:
        return _LINE_COST + len(self.line) + len(self.fields or "")


class Waiting:
    """What one job said and is not written yet; and whose outcome waits for that."""

    __slots__ = ("dropped", "last_dropped", "lent", "lines", "lost", "note", "outcomes", "refusals")

    def __init__(self) -> None:
        self.lines: deque[Line] = deque()
        self.outcomes: list[tuple[int, Callable[[], None]]] = []
        self.dropped = 0
        self.last_dropped: Line | None = None
        self.lent = False
        self.refusals = 0
        self.note: Line | None = None  # stands for lines that Postgres would not take
        self.lost = 0  # how many those are

    def replace(self, batch: Sequence[Line], why: str) -> int:
        """One loud line in the place of the first ones, which were refused; answers how many more are lost.

        A note that is refused together with others counts those too; alone, it is given up.
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


def next_batch(jobs: dict[int, Waiting], singly: bool) -> list[Line]:
    """What to write next, fair to all: jobs whose outcome waits first, and none with more than its share.

    Whoever was served goes to the end of the line, so that neither a chatty job nor one whose row is in
    use keeps the others waiting. Singly: of one job only, which stays where it is.
    """
    free = [each for each in jobs.items() if not each[1].lent]
    free.sort(key=lambda each: not each[1].outcomes)
    shares = _SHARES if len(free) > 1 else 1
    batch: list[Line] = []
    room = BATCH_BYTES
    for job, waiting in free:
        count, share = 0, BATCH_BYTES // shares
        for line in waiting.lines:
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
    """The statement that writes the lines, with how long ago each was said: the time itself is the database's."""
    now = time.monotonic()
    return Query(
        "write_logs",
        (
            plain([line.job for line in batch]),
            plain([line.lease for line in batch]),
            plain([line.said for line in batch]),
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
