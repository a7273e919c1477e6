"""Measure how many jobs a worker finishes a second, so that it claims no more than it starts soon."""

from __future__ import annotations

import time
from collections.abc import Callable


class Pace:
    """A moving average of the jobs that a worker finishes a second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at = clock()
        self._finished = 0
        self.rate = 0.0  # jobs a second

    def measure(self, finished: int) -> None:
        now = self._clock()
        elapsed = now - self._at
        if elapsed < 0.005:
            return
        self.rate += 0.3 * ((finished - self._finished) / elapsed - self.rate)
        self._at, self._finished = now, finished

    def reset(self) -> None:
        """Start again from zero: no lane has finished a job for a while."""
        self.rate = 0.0

    def within(self, seconds: float) -> int:
        return int(self.rate * seconds)
