"""`app.schedules`: the verbs of schedules as methods."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from kairos.answered import Awaiting, Blocking, answered
from kairos.machine.call import Call
from kairos.store.query import Verb
from kairos.store.schedules import Calendars, Schedule, Tick
from kairos.verbs import schedules as verbs
from kairos.verbs import ticks
from kairos.verbs.schedule_options import ScheduleOptions

T = TypeVar("T")


class Schedules:
    """The verbs of schedules."""

    def __init__(self, run: Callable[[Verb[Any]], Any], calendars: Calendars) -> None:
        self._run = run
        self._calendars = calendars

    @answered
    def add(self, /, name: str, when: str, call: Call, **options: Any) -> Verb[Schedule]:
        """Make a schedule or edit it."""
        return verbs.save(name, when, call, ScheduleOptions.of(options), calendars=self._calendars)

    @answered
    def get(self, name: str) -> Verb[Schedule]:
        """One schedule, with its next five ticks."""
        return verbs.get(name, self._calendars)

    @answered
    def list(self) -> Verb[builtins.list[Schedule]]:
        """Every schedule."""
        return verbs.list_all(calendars=self._calendars)

    @answered
    def ticks(self, /, name: str, **page: Any) -> Verb[builtins.list[Tick]]:
        """What was decided on a schedule's ticks, newest first."""
        return ticks.ticks(name, **page)

    @answered
    def pause(self, name: str, reason: str | None = None) -> Verb[Schedule]:
        """Let a schedule fire no more until it is resumed."""
        return verbs.pause(name, reason, calendars=self._calendars)

    @answered
    def resume(self, name: str) -> Verb[Schedule]:
        """Let a schedule fire again."""
        return verbs.resume(name, calendars=self._calendars)

    @answered
    def trigger(self, name: str) -> Verb[int]:
        """Enqueue a schedule's job now, outside its ticks."""
        return ticks.trigger(name)

    @answered
    def backfill(self, name: str, start: datetime, end: datetime) -> Verb[builtins.list[int]]:
        """Fire the ticks in (start, end] that were never decided."""
        return ticks.backfill(name, start, end, calendars=self._calendars)

    @answered
    def remove(self, name: str) -> Verb[None]:
        """Delete a schedule; its jobs and ticks stay."""
        return verbs.remove(name)


class AsyncSchedules(Schedules, Awaiting):
    """They are awaited."""

    async def run(self, verb: Verb[T]) -> T:
        answer: T = await self._run(verb)
        return answer


class SyncSchedules(Schedules, Blocking):
    """They answer with values."""

    def run(self, verb: Verb[T]) -> T:
        answer: T = self._run(verb)
        return answer
