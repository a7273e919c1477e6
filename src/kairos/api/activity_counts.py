"""Count the jobs accepted and picked between two polls, by queue. Neither event writes a history row."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

from kairos.store.query import Query, Row

# A transaction that commits its jobs after younger ones is still noticed within this many seconds.
_LATE = 2.0


class ActivityCounts:
    """Compare each result of `count_activity` with the one before it."""

    def __init__(self) -> None:
        self._polls: deque[tuple[float, int]] = deque()  # the time of each poll, and the newest job id then
        self._counted: Counter[str] = Counter()  # jobs newer than the oldest poll kept in `_polls`, by queue
        self._running: set[tuple[int, int]] = set()
        self._history = 0

    @property
    def has_started(self) -> bool:
        """Whether the first poll is done: jobs accepted and picked from now on are counted."""
        return bool(self._polls)

    def query(self, now: float, decided: int) -> Query:
        """Return the statement of the next poll; history rows up to `decided` are final."""
        first = self._polls[0][1] if self._polls else 0
        while len(self._polls) > 1 and self._polls[1][0] <= now - _LATE:
            self._polls.popleft()
        if not self._polls:
            # The first poll counts nothing: it only records which jobs exist already.
            return Query("count_activity", (2**62, 2**62, decided, decided, []))
        recent = self._polls[0][1]
        held = [job for job, _ in self._running]
        return Query("count_activity", (first, recent, self._history, decided, held))

    def add(self, row: Row, now: float, decided: int) -> Mapping[str, Any] | None:
        """Return the counts that changed since the poll before, or None."""
        running = {(job, lease): queue for job, lease, queue in json.loads(row["running"])}
        jobs = json.loads(row["accepted"])
        is_first = not self._polls
        accepted = Counter({queue: found for queue, (found, _) in jobs.items()})
        accepted.subtract(self._counted)
        picked = Counter(queue for claim, queue in running.items() if claim not in self._running)
        picked.update(json.loads(row["finished"]))
        self._counted = Counter({queue: recent for queue, (_, recent) in jobs.items()})
        self._running = set(running)
        self._history = decided
        self._polls.append((now, row["last"]))
        if is_first:
            return None
        news = {"accepted": dict(+accepted), "picked": dict(+picked)}
        return news if any(news.values()) else None
