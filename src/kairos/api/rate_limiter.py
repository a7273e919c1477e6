"""A rate limiter: a token bucket for each caller, in this process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from kairos.errors import TooManyRequests

# With more callers than this, full buckets are dropped: a full bucket equals a new one.
_CALLERS = 10_000


class RateLimiter:
    """Each caller's bucket holds `burst` tokens and gains `rate` a second."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._full_at: dict[str, float] = {}  # when each bucket would be full again

    @property
    def buckets(self) -> int:
        """How many buckets are kept."""
        return len(self._full_at)

    def take(self, caller: str) -> None:
        """Take one token, or raise `TooManyRequests`."""
        now = self._clock()
        full_at = max(self._full_at.get(caller, now), now) + 1 / self._rate
        wait = full_at - now - self._burst / self._rate
        if wait > 1e-9:
            raise TooManyRequests(
                f"The limit is {self._rate:g} requests a second: retry after a pause.",
                retry_after=max(1, math.ceil(wait)),
            )
        if len(self._full_at) >= _CALLERS:
            self._full_at = {name: full for name, full in self._full_at.items() if full > now}
        self._full_at[caller] = full_at

    def give_back(self, caller: str) -> None:
        """Put back a token."""
        if caller in self._full_at:
            self._full_at[caller] -= 1 / self._rate
