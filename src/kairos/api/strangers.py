"""Refusals of those whom nobody knows, in the audit log: a row for the first, and a few a minute for the rest."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

import structlog

from kairos.api.ledger import Ledger
from kairos.verbs.audit import Asked

log = structlog.get_logger("kairos.api")

WINDOW = 60.0
# Of so many addresses at once each is told apart; of all others there is one count.
MOST_ADDRESSES = 20
ELSEWHERE = "elsewhere"


@dataclass(slots=True)
class _Counted:
    """Refusals that were answered alike, all but the last one known by their number alone."""

    last: Asked
    more: int = 0


class Strangers:
    """Puts down refusals so that the log does not grow as fast as anybody asks, and none goes uncounted.

    What was counted and not yet written is lost if the process is killed: a minute of it at most.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._tries: dict[str, dict[tuple[str, int | None], _Counted]] = {}
        self._flushing = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None

    async def refused(self, address: str, asked: Asked) -> None:
        """Put down or count one refusal. They are refused all the same if it cannot be put down."""
        place = address if address in self._tries or len(self._tries) < MOST_ADDRESSES else ELSEWHERE
        if (known := self._tries.get(place)) is not None:
            alike = known.setdefault((asked.verb, asked.status), _Counted(asked))
            alike.last = asked
            alike.more += 1
            return
        self._tries[place] = {}
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WINDOW, self._is_due)
        await self._put_down(asked, {**(asked.details or {}), "address": place})

    async def flush(self) -> None:
        """Put down how many more there were, a row for each status they were answered with, and begin anew.

        Each such row names the request that was the last of those it counts. Once this returns, no such row is
        under way any more.
        """
        async with self._flushing:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            tries, self._tries = self._tries, {}
            for place, counted in tries.items():
                for each in counted.values():
                    await self._put_down(each.last, {"address": place, "more": each.more})

    def _is_due(self) -> None:
        self._writing = asyncio.create_task(self.flush())

    async def _put_down(self, asked: Asked, details: dict[str, Any]) -> None:
        try:
            await self._ledger.begin(replace(asked, details=details))
        except Exception as error:  # noqa: BLE001 (nothing was done that would need its row)
            log.error("a refusal is missing in the audit log", verb=asked.verb, **details, error=str(error))
