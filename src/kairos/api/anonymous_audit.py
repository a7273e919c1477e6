"""Audit refused requests of unknown callers: one row for the first from an address, then counts once a minute."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from kairos.api.audit_writer import AuditWriter
from kairos.logger import Logger
from kairos.operations.audit import AuditedRequest

log = Logger("kairos.api")

WINDOW = 60.0
# How many addresses are counted separately; all others share one count.
MOST_ADDRESSES = 20
OTHER_ADDRESSES = "elsewhere"


@dataclass(slots=True)
class _Counted:
    """Refusals with the same verb and status: the last one, and how many there were."""

    last: AuditedRequest
    more: int = 0


class AnonymousAudit:
    """Record every refusal without letting unknown callers grow the audit log at will.

    Counts of the last minute are lost if the process is killed.
    """

    def __init__(self, audit_writer: AuditWriter) -> None:
        self._audit_writer = audit_writer
        self._counts: dict[str, dict[tuple[str, int | None], _Counted]] = {}
        self._flushing = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None

    async def refused(self, address: str, asked: AuditedRequest) -> None:
        """Write or count one refusal. A write that fails is logged; the request stays refused."""
        counted_as = (
            address if address in self._counts or len(self._counts) < MOST_ADDRESSES else OTHER_ADDRESSES
        )
        if (known := self._counts.get(counted_as)) is not None:
            alike = known.setdefault((asked.verb, asked.status), _Counted(asked))
            alike.last = asked
            alike.more += 1
            return
        self._counts[counted_as] = {}
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WINDOW, self.start_flush)
        await self._write(asked, {**(asked.details or {}), "address": counted_as})

    async def flush(self) -> None:
        """Write the counts, a row for each address, verb and status, and start counting again.

        Each row names the last request that it counts. When this returns, no such row is still being written.
        """
        async with self._flushing:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            counts, self._counts = self._counts, {}
            for counted_as, counted in counts.items():
                for each in counted.values():
                    await self._write(each.last, {"address": counted_as, "more": each.more})

    def start_flush(self) -> None:
        """Write the counts in the background."""
        self._writing = asyncio.create_task(self.flush())

    async def _write(self, asked: AuditedRequest, details: dict[str, Any]) -> None:
        try:
            await self._audit_writer.begin(replace(asked, details=details))
        except Exception as error:  # noqa: BLE001 (the request was refused, so no change lacks its row)
            log.error("a refusal is missing in the audit log", verb=asked.verb, **details, error=str(error))
