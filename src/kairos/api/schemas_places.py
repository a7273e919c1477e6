"""The shapes of machines, queues and workers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field, StrictInt

from kairos.api.schemas import Answer, Input, Output
from kairos.api.schemas_jobs import Length


class Machine(Output):
    """A machine by all its versions; `input` is the JSON schema of the newest, `workers` the live ones that know it."""

    name: str
    version: int
    versions: list[int]
    queue: str
    ttl: float | None
    input: dict[str, Any]
    redact: list[str]
    steps: list[str]
    workers: int
    seen_at: datetime


class MachineAnswer(Answer):
    machine: Machine


class MachineList(Answer):
    machines: list[Machine]
    next_cursor: str | None


class Diagram(Answer):
    diagram: dict[str, Any]
    mermaid: str


class SchemaAnswer(Answer):
    schema_: dict[str, Any] = Field(alias="schema")


class LifecycleAnswer(Answer):
    lifecycle: dict[str, Any]
    mermaid: str


class Rate(Output):
    """So many starts in so many seconds."""

    limit: int
    seconds: float


class Queue(Output):
    """`atLeast`: states of which there may be more than are counted."""

    name: str
    paused_at: datetime | None
    concurrency: int | None
    rate: Rate | None
    key_concurrency: int
    key_rate: Rate | None
    scheduled: int
    pending: int
    running: int
    waiting: int
    at_least: list[str]


class QueueAnswer(Answer):
    queue: Queue


class QueueList(Answer):
    queues: list[Queue]
    next_cursor: str | None


class RateWanted(Input):
    limit: StrictInt = Field(ge=1, le=2**31 - 1)
    seconds: Length


class QueueChanges(Input):
    """The limits to set, over all workers; `null` lifts one, and what is left out stays."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"concurrency": 10, "rate": {"limit": 100, "seconds": 60}}]}
    )

    concurrency: StrictInt | None = Field(None, ge=1, le=32767)
    rate: RateWanted | None = None
    key_concurrency: StrictInt | None = Field(None, ge=1, le=32767)
    key_rate: RateWanted | None = None


class Worker(Output):
    """`live` means that it was heard of within 30 seconds; `drainAt`, that it was asked to leave."""

    id: str
    host: str
    pid: int
    queues: list[str]
    actions: list[str]
    concurrency: int
    running: int
    started_at: datetime
    seen_at: datetime
    stopping_at: datetime | None
    drain_at: datetime | None
    live: bool


class WorkerAnswer(Answer):
    worker: Worker


class WorkerList(Answer):
    workers: list[Worker]
    next_cursor: str | None
