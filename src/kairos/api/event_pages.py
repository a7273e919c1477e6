"""Read pages of past events for readers that are behind; readers at the same cursor share a page."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from kairos.api.event_buffer import Entry

# At most this many pages are read at once, so that readers that catch up do not use up the connections.
_AT_ONCE = 4
# How many full pages are cached; each has at most 64 KiB and one event.
_KEPT = 64

Read = Callable[[int], Awaitable[tuple[Sequence[Entry], bool]]]


class EventPages:
    """Read and cache pages. Events are append-only, so a full page never changes."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._kept: OrderedDict[Any, Sequence[Entry]] = OrderedDict()

    async def read(self, position: tuple[int | None, int], upto: int, read: Read) -> Sequence[Entry]:
        """Return the events after a position (a job, or None for all, and a cursor) up to the cursor `upto`."""
        async with self._turns:
            entries = self._kept.get(position)
            if entries is None:
                entries, is_full = await read(position[1])
                if is_full:
                    self._keep(position, entries)
            else:
                self._kept.move_to_end(position)
        return [entry for entry in entries if entry.cursor is not None and entry.cursor <= upto]

    def _keep(self, position: Any, entries: Sequence[Entry]) -> None:
        self._kept[position] = entries
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
