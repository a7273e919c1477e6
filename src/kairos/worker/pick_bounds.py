"""Lower bounds for reading the pick index of a queue in which a full pick is slow.

A transaction that stays open keeps the entries of claimed jobs in the index, and each priority with nothing due costs
a descent, so full picks become slower. They may then take at most a tenth of the time; the other picks begin at the
bounds: the first due job of each priority, as the last full pick found it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta

from kairos.store.query import Row

# A full pick that takes fewer seconds than this, without the time for each row that it claims, needs no bounds.
_CHEAP, _PER_ROW = 0.01, 0.0001
# Bounds are used for `_FACTOR` times the duration of a full pick, and at most `LONGEST` seconds: so long may a job
# below the bounds wait, such as one whose transaction committed late.
_FACTOR, LONGEST = 10, 1.0
# Seconds for which a priority that had a due job is still read.
_REMEMBERED = 60.0
# Jobs that are due within this time count as due when the bounds are read.
HORIZON = timedelta(seconds=LONGEST)


class PickBounds:
    """The bounds of one queue."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._costs: deque[float] = deque(maxlen=3)
        self._until = 0.0
        self._seen: dict[int, float] = {}
        self.priorities: list[int] = []
        self.since: list[int] = []

    def record_full_pick(self, seconds: float, rows: int) -> bool:
        """Record the duration of a full pick; return whether the last three were slow, so that bounds pay off."""
        self._costs.append(seconds - rows * _PER_ROW)
        return len(self._costs) == 3 and min(self._costs) > _CHEAP

    def learn(self, rows: Sequence[Row]) -> None:
        """Use a result of `read_pick_bounds`; priorities seen before are read for jobs that were due after it."""
        now = self._clock()
        found = {row["priority"]: row["since"] for row in rows}
        lately = found.pop(None)
        self._seen |= dict.fromkeys([0, *found], now)
        self._seen = {priority: at for priority, at in self._seen.items() if now - at < _REMEMBERED}
        self.priorities = sorted(self._seen)
        self.since = [found.get(priority, lately) for priority in self.priorities]
        self._until = now + min(LONGEST, _FACTOR * min(self._costs))

    @property
    def seconds_left(self) -> float:
        """The seconds for which the bounds may still be used; zero or less: the next pick is a full one."""
        return self._until - self._clock()
