"""How things stand, looked at once a second at most however many ask."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import TYPE_CHECKING

from kairos import verbs
from kairos.store.faults import UNAVAILABLE, unavailable
from kairos.worker.tally import Tally

if TYPE_CHECKING:
    from kairos.api.app import Service
    from kairos.verbs.stats import Stats

_FRESH = 1.0


class Snapshots:
    """A part of the service. It counts before it looks, so that the numbers are fresh where no worker runs."""

    def __init__(self, service: Service) -> None:
        self._kairos = service.state.kairos
        self._turn = asyncio.Lock()
        self._seen: dict[int, tuple[float, Stats]] = {}
        self._tally: Tally | None = None

    async def __aenter__(self) -> Snapshots:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._seen.clear()

    async def look(self, window: int) -> Stats:
        """The stats of the last `window` seconds, at most a second old."""
        async with self._turn:
            at, stats = self._seen.get(window, (0.0, None))
            if stats is not None and time.monotonic() - at < _FRESH:
                return stats
            await self._count()
            found: Stats = await self._kairos.run(verbs.stats(window))
            now = time.monotonic()
            self._seen = {asked: each for asked, each in self._seen.items() if now - each[0] < _FRESH}
            self._seen[window] = (now, found)
            return found

    async def count(self) -> None:
        """Count what is new now, unless that was done within the last second."""
        async with self._turn:
            await self._count()

    async def _count(self) -> None:
        await self._kairos.open()
        if self._tally is None:
            self._tally = Tally(self._kairos.store)
        try:
            await self._tally.tick()
        except UNAVAILABLE as error:
            raise unavailable(error) from error
