"""A schedule and its ticks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from kairos.shapes.shape import Hidden, Shown, shape

Overlap = Literal["allow", "skip", "queue", "cancel"]
CatchUp = Literal["none", "last", "all"]


@shape("ScheduleShape", derived=("paused",))
@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule and the next instants at which it fires: none at its end, or if this code cannot read its sentence."""

    name: str
    when: Annotated[str, Shown(column="intent")]
    sentence: str
    tz: str
    action: Annotated[str, Shown(column="fsm")]
    input: Annotated[Any, Shown(column="state")]
    queue: str
    overlap: Annotated[str, Shown(schema=Overlap)]
    catch_up: Annotated[str, Shown(schema=CatchUp)]
    catch_up_within: timedelta
    jitter: timedelta
    start: Annotated[datetime | None, Shown(column="starts_at")]
    end: Annotated[datetime | None, Shown(column="ends_at")]
    count: int | None
    ticks_left: int | None
    paused_at: datetime | None
    pause_reason: str | None
    declared_by: str | None
    generation: Annotated[int, Hidden()] = 0
    next_tick_at: Annotated[datetime | None, Hidden()] = None
    redact: Annotated[tuple[str, ...], Hidden()] = ()
    next_ticks: Annotated[tuple[datetime, ...], Shown(column=None)] = ()

    @property
    def paused(self) -> bool:
        return self.paused_at is not None


@shape("TickShape")
@dataclass(frozen=True, slots=True)
class Tick:
    """The decision on one tick: the job it made, or the reason why it made none."""

    schedule: Annotated[str, Hidden()]
    tick_at: datetime
    job_id: Annotated[int | None, Shown("job")]
    reason: Annotated[str | None, Shown("skipped")]
    decided_at: datetime
    generation: Annotated[int, Hidden()] = 0
