"""Read a schedule from its row, with its plan and its next ticks."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from datetime import date, datetime
from typing import TypeAlias

from kairos.errors import PlanUnreadable
from kairos.schedule import IntentError, Plan
from kairos.schedule.parse import read_sentence
from kairos.shapes import read
from kairos.shapes.schedule import Schedule
from kairos.store.query import Row

# The days called holidays, by the name of their calendar.
Calendars: TypeAlias = Mapping[str, Container[date]]

_NEXT = 5


def schedule(row: Row, calendars: Calendars) -> Schedule:
    """Return the schedule of a row. It has no next ticks after its end, or if this release cannot read its plan."""
    try:
        next_ticks = _next_ticks(row, calendars)
    except (IntentError, PlanUnreadable):  # the ticker reports it
        next_ticks = ()
    return read(Schedule, row, next_ticks=next_ticks)


def stored_plan(row: Row, calendars: Calendars) -> Plan:
    """Return the plan of a schedule; compile the sentence only if an older release saved the schedule."""
    if row["plan"] is not None:
        return Plan.from_json(json.loads(row["plan"]), calendars)
    return read_sentence(row["sentence"], calendars)


def _next_ticks(row: Row, calendars: Calendars) -> tuple[datetime, ...]:
    if row["next_tick_at"] is None:
        return ()
    limit = _NEXT if row["ticks_left"] is None else min(row["ticks_left"], _NEXT)
    coming = stored_plan(row, calendars).ticks(after=max(row["now"], row["cursor_at"]), limit=limit)
    return tuple(tick for tick in coming if row["ends_at"] is None or tick <= row["ends_at"])
