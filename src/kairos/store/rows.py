"""What a row of the database is to Python: `Job`, `HistoryRow`, `SignalRow`, `Queue`, `WorkerRow`, `MachineRow`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from kairos.errors import BadRequest, InvalidTransition
from kairos.fsm.lifecycle import TERMINAL, JobState, can, can_transition
from kairos.machine.backoff import Backoff, shown_policy
from kairos.store.query import Row


@dataclass(slots=True)  # not frozen: a batch builds thousands, and freezing triples the price of each
class Job:
    """One job as it was when it was read; changing the value changes nothing else.

    `is_new` is False when an enqueue answered with the job that already held the unique key.
    """

    id: int
    action: str
    version: int
    state: JobState
    step: str
    attempt: int
    queue: str
    priority: int
    key: str | None
    tags: tuple[str, ...]
    input: Any
    output: Any = None
    error_code: str | None = None
    error: str | None = None
    progress: Any = None
    inserted_at: datetime | None = None
    run_at: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    expires_at: datetime | None = None
    cancel_requested_at: datetime | None = None
    cancel_reason: str | None = None
    retry: Backoff | None = None  # its own, in place of its machine's
    retry_of: int | None = None
    reply_to: int | None = None
    schedule: str | None = None
    worker: str | None = None
    awaits: tuple[str, ...] = ()
    await_until: datetime | None = None
    machine_state: Any = None
    unique: str | None = None
    reaps: int = 0
    created_by: str | None = None
    request_id: str | None = None
    trace: str | None = None
    redact: tuple[str, ...] = ()
    is_new: bool = True
    apply: Callable[..., Any] | None = field(default=None, repr=False, compare=False)

    @property
    def is_terminal(self) -> bool:
        return self.state in TERMINAL

    @property
    def can(self) -> tuple[str, ...]:
        """The verbs a person may apply to it now."""
        return can(self.state)

    def transition(self, target: JobState | str, **details: Any) -> Any:
        """Move the job to `target` by the client's verb for it, or raise `InvalidTransition`.

        `details` are those of the verb, such as a `reason`. Awaitable when the job came from an async client.
        """
        try:
            state = JobState(target)
        except ValueError as error:
            raise BadRequest(f"There is no state {target!r}; it is one of {', '.join(JobState)}.") from error
        verb = _VERB_TO.get(state)
        asks_to_stop = state is JobState.CANCELLED and self.state is JobState.RUNNING
        if verb is None or self.apply is None or not (can_transition(self.state, state) or asks_to_stop):
            raise InvalidTransition(
                f"Job {self.id} is {self.state} and cannot become {state}; "
                f"allowed now: {', '.join(self.can) or 'nothing'}.",
                current=self.state,
                target=state,
                allowed=self.can,
            )
        return self.apply(verb, self, **details)

    def bound(self, apply: Callable[..., Any]) -> Job:
        """This job, able to `transition` through the client that read it."""
        self.apply = apply
        return self


_VERB_TO = {JobState.CANCELLED: "cancel", JobState.PENDING: "run_now"}


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One committed change of one job."""

    id: int
    verb: str
    from_state: str
    to_state: str
    step: str
    attempt: int
    worker: str | None
    actor: str | None
    reason: str | None
    started_at: datetime | None
    at: datetime


@dataclass(frozen=True, slots=True)
class LogRow:
    """One line that a step of a job said; `stream` is where it was captured, None where it was logged."""

    cursor: int
    at: datetime
    level: str
    line: str
    fields: dict[str, Any] | None
    step: str
    attempt: int
    stream: str | None


@dataclass(frozen=True, slots=True)
class SignalRow:
    """One signal in a job's inbox; `consumed_at` is set by the commit of the step that took it."""

    id: int
    name: str
    payload: Any
    dedup_key: str | None
    inserted_at: datetime
    consumed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue: its settings, and how much live work it has where that was asked for; of the states in `at_least`, so
    much or more. `oldest_at` is when the oldest due job was due.
    """

    name: str
    paused_at: datetime | None
    concurrency: int | None
    rate_limit: int | None
    rate_period: timedelta | None
    key_concurrency: int
    key_rate_limit: int | None
    key_rate_period: timedelta | None
    scheduled: int = 0
    pending: int = 0
    running: int = 0
    waiting: int = 0
    oldest_at: datetime | None = None
    at_least: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkerRow:
    id: str
    host: str
    pid: int
    queues: list[str]
    actions: list[str]
    concurrency: int
    started_at: datetime
    seen_at: datetime
    stopping_at: datetime | None
    drain_at: datetime | None = None
    live: bool = True
    running: int = 0


@dataclass(frozen=True, slots=True)
class MachineRow:
    """A machine as a process that knows its code registered it; `workers` live ones know it now."""

    name: str
    version: int
    queue: str
    ttl: timedelta | None
    step: str
    input: Any
    diagram: Any
    redact: tuple[str, ...]
    options: Any
    seen_at: datetime
    workers: int


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list; `next` is where to go on, also after a page with nothing on it, and None at the end."""

    jobs: list[Job]
    next: int | None


def job(row: Row) -> Job:
    unique = row["unique_key"]
    return Job(
        id=row["id"],
        action=row["fsm"],
        version=row["fsm_version"],
        state=JobState(row["state"]),
        step=row["step"],
        attempt=row["attempt"],
        queue=row["queue"],
        priority=row["priority"],
        key=row["partition_key"],
        tags=tuple(row["tags"]),
        input=_loads(row["input"]),
        output=_loads(row["result"]),
        error_code=row["error_code"],
        error=row["last_error"],
        progress=_loads(row["progress"]),
        inserted_at=row["inserted_at"],
        run_at=row["eligible_at"],
        started_at=row["started_at"],
        completed_at=row["completed_at"],
        expires_at=row["expires_at"],
        cancel_requested_at=row["cancel_requested_at"],
        cancel_reason=row["cancel_reason"],
        retry=shown_policy(_loads(row["retry"])),
        retry_of=row["retry_of"],
        reply_to=row["reply_to"],
        schedule=row["schedule"],
        worker=row["locked_by"],
        awaits=tuple(row["awaits"] or ()),
        await_until=row["await_until"],
        machine_state=_loads(row["machine_state"]),
        unique=None if unique is None else bytes(unique).decode(),
        reaps=row["reaps"],
        created_by=row["created_by"],
        request_id=row["request_id"],
        trace=row["trace"],
        redact=tuple(dict.fromkeys(row["redact"] or ())),
    )


def machine(row: Row) -> MachineRow:
    values = dict(row)
    for name in ("input", "diagram", "options"):
        values[name] = json.loads(row[name])
    return MachineRow(**{**values, "redact": tuple(row["redact"])})


def signal(row: Row) -> SignalRow:
    return SignalRow(**{**row, "payload": json.loads(row["payload"])})


def log_line(row: Row) -> LogRow:
    return LogRow(
        cursor=row["cursor"],
        at=row["at"],
        level=row["level"],
        line=row["line"],
        fields=_loads(row["fields"]),
        step=row["step"],
        attempt=row["attempt"],
        stream=row["stream"],
    )


def _loads(text: str | None) -> Any:
    return None if text is None else json.loads(text)
