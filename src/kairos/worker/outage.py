"""An outage of the database, shared by all loops of a worker: one warning is logged, and its end wakes them all."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from kairos.logger import Logger

log = Logger("kairos.worker")

# While the outage lasts, some loop tries again within a random time between these, in seconds.
_SOONEST, _SOON = 0.1, 0.5


@dataclass(frozen=True, slots=True)
class _FailedLoop:
    """When a loop that failed tries again, and how to make it try at once."""

    retry_at: float
    wake: Callable[[], None]


class Outage:
    """The loops of a worker that cannot reach the database now.

    Each loop backs off, so that a restarted Postgres is not overrun. But at least twice a second one of them retries,
    and the first to succeed wakes the others.
    """

    def __init__(self) -> None:
        self._failed: dict[str, _FailedLoop] = {}
        self._since = 0.0

    @property
    def is_open(self) -> bool:
        return bool(self._failed)

    def failed(
        self, loop: str, error: BaseException, retry_in: float, wake: Callable[[], None] = lambda: None
    ) -> float:
        """Note that a loop failed; return the seconds until its retry: at most 0.5, unless another retries by then.

        The first loop logs a warning, the others log at debug level.
        """
        now = time.monotonic()
        write = log.debug if self._failed else log.warning
        if not self._failed:
            self._since = now
        others = [each.retry_at for name, each in self._failed.items() if name != loop]
        if not any(now < retry_at <= now + _SOON for retry_at in others):
            retry_in = min(retry_in, random.uniform(_SOONEST, _SOON))  # noqa: S311 (no secret)
        self._failed[loop] = _FailedLoop(now + retry_in, wake)
        write("database unavailable", loop=loop, error=str(error), retry_in=round(retry_in, 2))
        return retry_in

    def recovered(self, loop: str) -> None:
        """Note that a loop has reached the database again, and wake the others; the last one logs it."""
        if loop not in self._failed:
            return
        del self._failed[loop]
        for each in self._failed.values():
            each.wake()
        if not self._failed:
            log.info("database available again", after_seconds=round(time.monotonic() - self._since, 1))
