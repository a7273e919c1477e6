"""Limit how many queues HTTP callers may create by naming them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from fastapi import Request

from kairos.errors import TooManyQueues
from kairos.store.query import Query

if TYPE_CHECKING:
    from kairos.api.app import Service

# Once the quota is used up, the names are read again at most this many seconds later.
_STALE = 1.0


class QueueQuota(AbstractAsyncContextManager["QueueQuota"]):
    """Cache the names of the queues, and read them from the database only for a new name.

    Every queue makes the list of queues and the alarm checks a little slower, so a caller with the scope `enqueue`
    must not create any number of them. Programs that use the database directly are not limited.
    """

    def __init__(self, service: Service) -> None:
        self._kairos = service.state.kairos
        self._most: int = service.state.settings.queue_names
        self._known: set[str] = set()
        self._read_at = float("-inf")
        self._turn = asyncio.Lock()

    async def __aexit__(self, *_: object) -> None:
        self._known.clear()

    async def check(self, names: Iterable[str]) -> None:
        """Allow known names, and new ones until the quota is used up; else raise `TooManyQueues`."""
        if self._known.issuperset(wanted := set(names)):
            return
        async with self._turn:
            if not self._fits(wanted) or not self._known:
                await self._read()
            if not self._fits(wanted):
                new = min(wanted - self._known)
                raise TooManyQueues(
                    f"There are {len(self._known)} queues, and the service makes {self._most} at most: "
                    f"use one of them in place of {new!r}, or raise KAIROS_QUEUE_NAMES.",
                    field="queue",
                )
            self._known |= wanted

    def _fits(self, wanted: set[str]) -> bool:
        return wanted <= self._known or len(self._known | wanted) <= self._most

    async def _read(self) -> None:
        if time.monotonic() - self._read_at < _STALE:
            return
        await self._kairos.open()
        rows = await self._kairos.store.run(Query("list_queue_names", (self._most + 1,)))
        self._known = {row["name"] for row in rows}
        self._read_at = time.monotonic()


async def check_queues(request: Request, *names: str | None) -> None:
    """Check the queues that a request names; None is skipped."""
    if wanted := {name for name in names if name is not None}:
        quota: QueueQuota = await request.app.component(QueueQuota)
        await quota.check(wanted)
