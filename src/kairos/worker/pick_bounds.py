"""Lower bounds for reading the pick index of a queue that has a backlog, or in which a full pick is slow.

Claimed jobs leave dead entries in the index, which a transaction that stays open keeps there, and each priority without
a due job costs a descent. So a twentieth of the time is spent on full picks. The other picks start at the bounds: the
first due job of each priority when the bounds were read, and then where the pick before ended.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta

from kairos.store.query import Row

# A full pick that finds this many jobs has a backlog before it: the next picks have to walk over what it claimed.
_BACKLOG = 100
# A full pick that finds fewer jobs, and takes fewer seconds than this, needs no bounds.
_CHEAP = 0.01
# Bounds are used for `_FACTOR` times the duration of a full pick, but at most `LONGEST` seconds. That is the longest
# that a job below the bounds waits, such as one whose transaction committed late.
_FACTOR, LONGEST = 20, 10.0
# Seconds for which a priority that had a due job is still read.
_REMEMBERED = 60.0
_SECOND = 1_000_000  # microseconds
# Jobs that are due within this time count as due when the bounds are read.
HORIZON = timedelta(seconds=LONGEST)


class PickBounds:
    """The bounds of one queue."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._costs: deque[float] = deque(maxlen=3)
        self._until = 0.0
        self._learned_at = 0.0
        self._seen: dict[int, float] = {}
        self.priorities: list[int] = []
        self.since: list[int] = []
        self.ids: list[int] = []

    def record_full_pick(self, seconds: float, rows: int) -> bool:
        """Record the duration of a full pick; return whether bounds would have made each of the last three cheaper."""
        self._costs.append(seconds if rows >= _BACKLOG or seconds > _CHEAP else 0.0)
        return len(self._costs) == 3 and min(self._costs) > 0

    def learn(self, rows: Sequence[Row]) -> None:
        """Take the bounds from the rows of `read_pick_bounds`.

        A priority that had a due job within `_REMEMBERED` seconds, but is not among the rows, is bounded by a second
        before that statement.
        """
        now = self._clock()
        found = {row["priority"]: (row["since"], row["id"]) for row in rows}
        lately = found.pop(None)
        self._seen |= dict.fromkeys([0, *found], now)
        self._seen = {priority: at for priority, at in self._seen.items() if now - at < _REMEMBERED}
        self.priorities = sorted(self._seen)
        starts = [found.get(priority, lately) for priority in self.priorities]
        self.since, self.ids = [since for since, _ in starts], [first for _, first in starts]
        self._learned_at = now
        self._use()

    def renew(self, rows: Sequence[Row]) -> bool:
        """Use the bounds again after a full pick, from where it ended; return False if they must be read anew.

        To read them costs as much as the pick: it is done for a new priority, and once in `_REMEMBERED` seconds.
        """
        found = {row["priority"] or 0 for row in rows}
        now = self._clock()
        if now - self._learned_at >= _REMEMBERED or not found.issubset(self.priorities):
            return False
        self._seen |= dict.fromkeys(found, now)
        self.advance(rows)
        self._use()
        return True

    def _use(self) -> None:
        self._until = self._clock() + min(LONGEST, _FACTOR * min(self._costs))

    def advance(self, rows: Sequence[Row]) -> None:
        """Begin the next bounded pick where this one ended: the jobs before are claimed, or locked by others.

        It begins no later than a job that waits for its key, which the next pick may get, and no later than a second
        ago, since a transaction that has not committed yet may have inserted jobs after that.
        """
        ends: dict[int, tuple[int, int]] = {}
        stopped: set[int] = set()
        for row in rows:
            priority, lately = row["priority"] or 0, row["picked"] - _SECOND
            if priority in stopped:
                continue
            ends[priority] = (row["due"], row["id"]) if row["due"] <= lately else (lately, 0)
            if row["lease"] is None and row["partition_key"] is not None:
                stopped.add(priority)
        for place, priority in enumerate(self.priorities):
            if priority in ends:
                self.since[place], self.ids[place] = ends[priority]

    @property
    def seconds_left(self) -> float:
        """The seconds for which the bounds may still be used; zero or less: the next pick is a full one."""
        return self._until - self._clock()
