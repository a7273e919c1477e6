"""The schemas of schedules and intents."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from kairos.api.schemas.base import Answer, Input, Instant, Length, Name, NoSlash, Output, one, optional, page
from kairos.shapes.schedule import CatchUp, Overlap, Schedule, Tick

Words = Annotated[str, Field(min_length=1, max_length=2000)]
Count = Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)]
Tags = Annotated[list[Name], Field(max_length=100)]
Priority = Annotated[int, Field(ge=-32768, le=32767, strict=True)]


class ScheduleWanted(Input):
    """A schedule to be made."""

    name: Annotated[Name, NoSlash]
    when: Words
    action: Name
    input: dict[str, Any] = Field(default_factory=dict)
    tz: Name = "UTC"
    overlap: Overlap = "allow"
    catch_up: CatchUp = "last"
    catch_up_within: Length = "1d"
    jitter: Length = 0.0
    start: Instant | None = None
    end: Instant | None = None
    count: Count | None = None
    queue: Annotated[Name, NoSlash] | None = None
    priority: Priority = 0
    key: Name | None = None
    ttl: Length | None = None
    tags: Tags = Field(default_factory=list)

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"name": "nightly", "when": "every weekday at 9am in London", "action": "report"}
        },
    )


class ScheduleChange(optional(ScheduleWanted, without="name")):  # type: ignore[misc]
    """The fields to change; the others keep their values. A null removes a limit."""


class PauseWanted(Input):
    reason: Words | None = None


class BackfillWanted(Input):
    """The ticks after `start`, up to and including `end`, that were never decided."""

    start: Instant
    end: Instant


class IntentWanted(Input):
    when: Words
    tz: Name = "UTC"
    now: Instant | None = None


ScheduleAnswer = one("ScheduleAnswer", schedule=Schedule)
ScheduleList = page("ScheduleList", schedules=Schedule)
TickList = page("TickList", ticks=Tick)


class MadeJob(Output):
    id: int


class Backfilled(Answer):
    jobs: list[MadeJob]


class IntentShape(Output):
    sentence: str
    tz: str
    recurring: bool
    ticks: list[datetime]


class IntentAnswer(Answer):
    intent: IntentShape
