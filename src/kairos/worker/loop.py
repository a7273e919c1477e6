"""The base class of the worker's loops: a subclass implements `tick`, which returns how long to wait."""

from __future__ import annotations

import asyncio
import random
import time
from abc import ABC, abstractmethod

from kairos.logger import Logger
from kairos.store.driver_errors import PASSING, REFUSED
from kairos.worker.outage import Outage

log = Logger("kairos.worker")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 10.0


class Loop(ABC):
    """Call `tick` again and again; while the database is unavailable, back off with jitter instead of ending.

    A statement that Postgres refuses is treated alike: one job may be the cause, and it would end every worker.
    """

    name: str

    def __init__(self) -> None:
        self._wake = asyncio.Event()
        self._failures = 0
        self._tick_began: float | None = None
        self._met_lock = False
        self.outage = Outage()  # replaced by the one that all loops of a worker share

    @property
    def failures(self) -> int:
        """How many ticks in a row have failed."""
        return self._failures

    @property
    def seconds_in_tick(self) -> float:
        """How long the running tick has taken until now; 0 between ticks."""
        return 0.0 if self._tick_began is None else time.monotonic() - self._tick_began

    def note_locked(self) -> None:
        """Note that a lock was not got in time: `LockWatch` then names the session that holds it."""
        self._met_lock = True

    def take_locked(self) -> bool:
        """Return whether `note_locked` was called since the last call."""
        met, self._met_lock = self._met_lock, False
        return met

    @abstractmethod
    async def tick(self) -> float:
        """Do what is due now, and return how many seconds to wait before the next tick."""

    def wake(self) -> None:
        """Run the next tick at once."""
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
        """Wait until the running tick has ended."""
        while self._tick_began is not None:
            await asyncio.sleep(0.005)

    async def _guarded_tick(self) -> float:
        self._tick_began = time.monotonic()
        try:
            wait = await self.tick()
        except PASSING as error:
            self._failures += 1
            self.failed(error)
            wait = self.outage.failed(self.name, error, backoff(self._failures), self.wake)
        except REFUSED as error:
            self._failures += 1
            wait = backoff(self._failures)
            self.failed(error)
            log.error(
                "Postgres refused a statement", loop=self.name, error=str(error), retry_in=round(wait, 2)
            )
        else:
            if self._failures:
                self._failures = 0
                self.outage.recovered(self.name)
        finally:
            self._tick_began = None
        return wait

    def failed(self, error: BaseException) -> None:  # noqa: B027 (most loops have nothing to add)
        """React to a failed tick, after an outage or a refused statement."""


def backoff(failures: int) -> float:
    """Return a delay with full jitter, so that loops do not return to a restarted Postgres all at once."""
    ceiling = min(_FIRST_PAUSE * 2 ** min(failures, 20), _LONGEST_PAUSE)
    return random.uniform(_FIRST_PAUSE / 2, ceiling)  # noqa: S311 (no secret)
