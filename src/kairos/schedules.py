"""`app.schedules`: the operations on schedules as methods."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from kairos.machine.call import Call
from kairos.operations import schedules as operations
from kairos.operations import ticks
from kairos.operations.schedule_options import ScheduleOptions
from kairos.shapes.schedule import Schedule, Tick
from kairos.store.query import Operation
from kairos.store.schedule_rows import Calendars
from kairos.sync_async import RunsAsync, RunsSync, sync_or_async

T = TypeVar("T")


class Schedules:
    """The operations on schedules."""

    def __init__(self, run: Callable[[Operation[Any]], Any], calendars: Calendars) -> None:
        self._run = run
        self._calendars = calendars

    @sync_or_async
    def add(self, /, name: str, when: str, call: Call, **options: Any) -> Operation[Schedule]:
        """Create a schedule, or edit the one of that name."""
        return operations.save(name, when, call, ScheduleOptions.of(options), calendars=self._calendars)

    @sync_or_async
    def get(self, name: str) -> Operation[Schedule]:
        """Return one schedule, with its next five ticks."""
        return operations.get(name, self._calendars)

    @sync_or_async
    def list(self) -> Operation[builtins.list[Schedule]]:
        """Return every schedule."""
        return operations.list_all(calendars=self._calendars)

    @sync_or_async
    def ticks(self, /, name: str, **page: Any) -> Operation[builtins.list[Tick]]:
        """Return the decided ticks of a schedule, newest first."""
        return ticks.ticks(name, **page)

    @sync_or_async
    def pause(self, name: str, reason: str | None = None) -> Operation[Schedule]:
        """Pause a schedule until it is resumed."""
        return operations.pause(name, reason, calendars=self._calendars)

    @sync_or_async
    def resume(self, name: str) -> Operation[Schedule]:
        """Resume a paused schedule."""
        return operations.resume(name, calendars=self._calendars)

    @sync_or_async
    def trigger(self, name: str) -> Operation[int]:
        """Enqueue a schedule's job now, outside its ticks."""
        return ticks.trigger(name)

    @sync_or_async
    def backfill(self, name: str, start: datetime, end: datetime) -> Operation[builtins.list[int]]:
        """Fire the ticks in (start, end] that were never decided."""
        return ticks.backfill(name, start, end, calendars=self._calendars)

    @sync_or_async
    def remove(self, name: str) -> Operation[None]:
        """Delete a schedule; its jobs and ticks stay."""
        return operations.remove(name)


class AsyncSchedules(Schedules, RunsAsync):
    """The operations on schedules; their results are awaited."""

    async def run(self, operation: Operation[T]) -> T:
        answer: T = await self._run(operation)
        return answer


class SyncSchedules(Schedules, RunsSync):
    """The operations on schedules; their results are returned directly."""

    def run(self, operation: Operation[T]) -> T:
        answer: T = self._run(operation)
        return answer
