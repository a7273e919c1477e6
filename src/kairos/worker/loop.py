"""A loop is written once; an actor writes `tick` and says how long to wait."""

from __future__ import annotations

import asyncio
import random
from abc import ABC, abstractmethod

from kairos.store.faults import PASSING
from kairos.worker.logs import Log

log = Log("kairos.worker")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 10.0


class Loop(ABC):
    """Calls `tick` again and again; a lost database makes it back off with jitter, never end."""

    name: str

    def __init__(self) -> None:
        self._wake = asyncio.Event()
        self._failures = 0
        self._ticking = False

    @abstractmethod
    async def tick(self) -> float:
        """Do what is due now and answer how many seconds to wait before the next time."""

    def wake(self) -> None:
        """End the present wait at once."""
        self._wake.set()

    async def run(self) -> None:
        while True:
            # Cleared before the tick: a wake that comes during it must not be lost.
            self._wake.clear()
            wait = await self._guarded_tick()
            if wait <= 0:
                await asyncio.sleep(0)
                continue
            try:
                async with asyncio.timeout(wait):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def at_rest(self) -> None:
        """Wait for the end of the present tick."""
        while self._ticking:
            await asyncio.sleep(0.005)

    async def _guarded_tick(self) -> float:
        self._ticking = True
        try:
            wait = await self.tick()
        except PASSING as error:
            self._failures += 1
            wait = backoff(self._failures)
            self.failed(error)
            log.warning("database unavailable", loop=self.name, error=str(error), retry_in=round(wait, 2))
        else:
            self._failures = 0
        finally:
            self._ticking = False
        return wait

    def failed(self, error: BaseException) -> None:  # noqa: B027 (most loops have nothing to add)
        """Called when a tick failed because the database was away."""


def backoff(failures: int) -> float:
    """Full jitter: a restarted Postgres is not met by everyone at once."""
    ceiling = min(_FIRST_PAUSE * 2 ** min(failures, 20), _LONGEST_PAUSE)
    return random.uniform(_FIRST_PAUSE / 2, ceiling)  # noqa: S311 (no secret)
