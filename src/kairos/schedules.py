"""`app.schedules`: the verbs of schedules as methods."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from kairos.machine.call import Call
from kairos.store.query import Verb
from kairos.store.schedules import Calendars
from kairos.verbs import schedules as verbs
from kairos.verbs import ticks
from kairos.verbs.schedule_options import ScheduleOptions


class Schedules:
    """The verbs of schedules, awaited where the app is async."""

    def __init__(self, run: Callable[[Verb[Any]], Any], calendars: Calendars) -> None:
        self._run = run
        self._calendars = calendars

    def add(self, name: str, when: str, call: Call, **options: Any) -> Any:
        """Make a schedule or edit it."""
        return self._run(verbs.save(name, when, call, ScheduleOptions.of(options), calendars=self._calendars))

    def get(self, name: str) -> Any:
        """One schedule, with its next five ticks."""
        return self._run(verbs.get(name, self._calendars))

    def list(self) -> Any:
        """Every schedule."""
        return self._run(verbs.list_all(calendars=self._calendars))

    def ticks(self, name: str, **page: Any) -> Any:
        """What was decided on a schedule's ticks, newest first."""
        return self._run(ticks.ticks(name, **page))

    def pause(self, name: str, reason: str | None = None) -> Any:
        """Let a schedule fire no more until it is resumed."""
        return self._run(verbs.pause(name, reason, calendars=self._calendars))

    def resume(self, name: str) -> Any:
        """Let a schedule fire again."""
        return self._run(verbs.resume(name, calendars=self._calendars))

    def trigger(self, name: str) -> Any:
        """Enqueue a schedule's job now, outside its ticks."""
        return self._run(ticks.trigger(name))

    def backfill(self, name: str, start: datetime, end: datetime) -> Any:
        """Fire the ticks in (start, end] that were never decided."""
        return self._run(ticks.backfill(name, start, end, calendars=self._calendars))

    def remove(self, name: str) -> Any:
        """Delete a schedule; its jobs and ticks stay."""
        return self._run(verbs.remove(name))
