"""Check whether the service can work, once for all the requests that ask at the same time."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kairos.api.app import Service

# Seconds that a check which found nothing wrong is good for.
FRESH = 0.5


class Readiness:
    """Share one check among the requests: it takes several statements, and callers without a key may ask for it."""

    def __init__(self, service: Service) -> None:
        self._kairos = service.state.kairos
        self._checking: asyncio.Task[None] | None = None
        self._checked_at = float("-inf")

    async def __aenter__(self) -> Readiness:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._checking is not None:
            self._checking.cancel()
            await asyncio.gather(self._checking, return_exceptions=True)

    async def check(self) -> None:
        """Raise if the database cannot be reached or written to, or its schema does not fit."""
        if time.monotonic() - self._checked_at < FRESH:
            return
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check())
            # Read here too: all who asked may have left.
            self._checking.add_done_callback(lambda check: check.cancelled() or check.exception())
        # Shielded: others wait for the same check.
        await asyncio.shield(self._checking)

    async def _check(self) -> None:
        await self._kairos.open()
        await self._kairos.store.check()
        await self._kairos.store.check_commits()
        self._checked_at = time.monotonic()
