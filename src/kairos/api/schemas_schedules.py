"""The shapes of schedules and intents."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from kairos.api.schemas import Answer, Input, Instant, NoSlash, Output
from kairos.api.schemas_jobs import Length

Name = Annotated[str, Field(min_length=1, max_length=255)]
Words = Annotated[str, Field(min_length=1, max_length=2000)]
Overlap = Literal["allow", "skip", "queue", "cancel"]
CatchUp = Literal["none", "last", "all"]
Count = Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)]
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
    tags: list[Name] = Field(default_factory=list)

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        json_schema_extra={
            "example": {"name": "nightly", "when": "every weekday at 9am in London", "action": "report"}
        },
    )


class ScheduleChange(Input):
    """What is to change; what is left out stays, and null takes a limit away."""

    when: Words | None = None
    action: Name | None = None
    input: dict[str, Any] | None = None
    tz: Name | None = None
    overlap: Overlap | None = None
    catch_up: CatchUp | None = None
    catch_up_within: Length | None = None
    jitter: Length | None = None
    start: Instant | None = None
    end: Instant | None = None
    count: Count | None = None
    queue: Annotated[Name, NoSlash] | None = None
    priority: Priority | None = None
    key: Name | None = None
    ttl: Length | None = None
    tags: list[Name] | None = None


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


class ScheduleShape(Output):
    name: str
    when: str
    sentence: str
    tz: str
    action: str
    input: Any
    queue: str
    overlap: Overlap
    catch_up: CatchUp
    catch_up_within: float
    jitter: float
    start: datetime | None
    end: datetime | None
    count: int | None
    ticks_left: int | None
    paused: bool
    paused_at: datetime | None
    pause_reason: str | None
    declared_by: str | None
    next_ticks: list[datetime]


class ScheduleAnswer(Answer):
    schedule: ScheduleShape


class ScheduleList(Answer):
    schedules: list[ScheduleShape]
    next_cursor: str | None


class TickShape(Output):
    tick_at: datetime
    job: int | None
    skipped: str | None
    decided_at: datetime


class TickList(Answer):
    ticks: list[TickShape]
    next_cursor: str | None


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
