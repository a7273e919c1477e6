"""What steps said and is not written yet: lines, each with the lease under which it was said."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import NamedTuple

from kairos.store.columns import plain, texts
from kairos.store.query import Query

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

    __slots__ = ("dropped", "last_dropped", "lent", "lines", "outcomes", "refusals")

    def __init__(self) -> None:
        self.lines: deque[Line] = deque()
        self.outcomes: list[tuple[int, Callable[[], None]]] = []
        self.dropped = 0
        self.last_dropped: Line | None = None
        self.lent = False
        self.refusals = 0


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
