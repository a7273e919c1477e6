"""What a row of `schedules` or `ticks` is to Python."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, TypeAlias

from kairos.schedule import IntentError, Plan
from kairos.store.query import Row

# The days called holidays, by the name of their calendar.
Calendars: TypeAlias = Mapping[str, Container[date]]

_NEXT = 5


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as it stands; `next_ticks` are the instants it will fire at next.

    They are empty at its end, and where this code cannot read the sentence. `input` is shown without what its
    machine's own rule hides.
    """

    name: str
    when: str
    sentence: str
    tz: str
    action: str
    input: Any
    queue: str
    overlap: str
    catch_up: str
    catch_up_within: timedelta
    jitter: timedelta
    start: datetime | None
    end: datetime | None
    count: int | None
    ticks_left: int | None
    paused_at: datetime | None
    pause_reason: str | None
    declared_by: str | None
    generation: int
    next_tick_at: datetime | None
    next_ticks: tuple[datetime, ...] = ()
    redact: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tick:
    """What was decided on one tick: the job it made, or the reason why it made none."""

    schedule: str
    generation: int
    tick_at: datetime
    job_id: int | None
    reason: str | None
    decided_at: datetime


def schedule(row: Row, calendars: Calendars) -> Schedule:
    return Schedule(
        name=row["name"],
        when=row["intent"],
        sentence=row["sentence"],
        tz=row["tz"],
        action=row["fsm"],
        input=json.loads(row["state"]),
        queue=row["queue"],
        overlap=row["overlap"],
        catch_up=row["catch_up"],
        catch_up_within=row["catch_up_within"],
        jitter=row["jitter"],
        start=row["starts_at"],
        end=row["ends_at"],
        count=row["count"],
        ticks_left=row["ticks_left"],
        paused_at=row["paused_at"],
        pause_reason=row["pause_reason"],
        declared_by=row["declared_by"],
        generation=row["generation"],
        next_tick_at=row["next_tick_at"],
        next_ticks=_next_ticks(row, calendars),
        redact=tuple(row["redact"] or ()),
    )


def _next_ticks(row: Row, calendars: Calendars) -> tuple[datetime, ...]:
    if row["next_tick_at"] is None:
        return ()
    try:
        plan = Plan.of(row["sentence"], calendars)
    except IntentError:  # the ticker says so, and pauses it
        return ()
    limit = _NEXT if row["ticks_left"] is None else min(row["ticks_left"], _NEXT)
    coming = plan.ticks(after=max(row["now"], row["cursor_at"]), limit=limit)
    return tuple(tick for tick in coming if row["ends_at"] is None or tick <= row["ends_at"])
