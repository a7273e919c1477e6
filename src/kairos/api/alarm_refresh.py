"""Run the alarm checks when a request asks for alarms, and wait a few seconds for them."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from kairos.alarms.thresholds import Thresholds
from kairos.logger import Logger
from kairos.worker.alarm_loop import run_checks_if_due

if TYPE_CHECKING:
    from kairos.api.app import Service

log = Logger("kairos.api")

# A caller waits this many seconds for the checks; after that it gets the alarms that are known.
TIMEOUT = 5.0


class AlarmRefresher(AbstractAsyncContextManager["AlarmRefresher"]):
    """Run the checks at most once at a time; a run continues when its caller has stopped waiting."""

    def __init__(self, service: Service) -> None:
        self._kairos = service.state.kairos
        self._task: asyncio.Task[None] | None = None

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def refresh(self) -> None:
        """Run the checks, unless a worker or another request did within 5 seconds; raise their error if they failed."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="alarm checks")
        task = self._task
        await asyncio.wait({task}, timeout=TIMEOUT)
        if task.done():
            task.result()

    async def _run(self) -> None:
        await self._kairos.open()
        began = asyncio.get_running_loop().time()
        try:
            await run_checks_if_due(self._kairos.store, Thresholds.of(self._kairos.settings.alarm_after))
        except Exception as error:
            if asyncio.get_running_loop().time() - began < TIMEOUT:
                raise  # the caller is still waiting
            log.warning("the alarm checks failed", error=str(error))
