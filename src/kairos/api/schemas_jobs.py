"""The shapes of jobs, their history and signals."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StrictFloat, StrictInt, StrictStr

from kairos.api.schemas import Answer, Flag, Input, Instant, NoSlash, Output
from kairos.api.schemas_retry import Retry, RetryWanted
from kairos.fsm.lifecycle import JobState
from kairos.verbs.bulk import PORTION

Name = Annotated[str, Field(min_length=1, max_length=255)]
Length = Annotated[
    StrictStr | StrictInt | StrictFloat,
    Field(description='Seconds, or text such as "90s", "5m", "1h 30m".', examples=["10m", 90]),
]


class JobWanted(Input):
    """A job to be accepted. Options left out are those of the action."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"action": "send_welcome", "input": {"user_id": 7}},
                {
                    "action": "send_welcome",
                    "input": {"user_id": 7},
                    "when": "tomorrow at 9am",
                    "tz": "Europe/London",
                    "ttl": "1h",
                    "unique": "welcome:7",
                    "tags": ["customer:7"],
                    "retry": {"attempts": 5, "base": "10s"},
                },
            ]
        }
    )

    action: Name
    input: dict[str, Any] = Field(default_factory=dict, description="The action's arguments, by name.")
    when: str | None = Field(None, min_length=1, max_length=1000, description="One time, in words.")
    tz: Name | None = Field(None, description="The time zone of `when`, if it names none; otherwise UTC.")
    run_at: Instant | None = None
    ttl: Length | None = None
    expires_at: Instant | None = None
    queue: Annotated[Name, NoSlash] | None = None
    priority: StrictInt | None = Field(None, ge=-32768, le=32767, description="Lower is earlier.")
    key: Name | None = Field(None, description="Jobs of one key run one at a time.")
    ordered: Flag | None = None
    unique: Name | None = Field(None, description="While a job holds it, no second one is accepted.")
    unique_scope: Literal["queued", "live", "ever"] | None = None
    if_taken: Literal["raise", "return"] | None = Field(
        None, description="What a taken `unique` does: 409, or the job that holds it."
    )
    tags: list[Name] | None = Field(None, max_length=100)
    retry: RetryWanted | None = Field(None, description="In place of the action's own policy or `handle`.")


class BatchWanted(Input):
    """Up to a thousand jobs, accepted in one statement: all of them, or none if one is wrong."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"jobs": [{"action": "resize", "input": {"image": n}} for n in (1, 2)]}]
        }
    )

    jobs: list[JobWanted] = Field(min_length=1, max_length=1000)


class JobChanges(Input):
    """What is to change; what is left out stays. A `null` lifts `ttl` or `expiresAt`."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"priority": -5}, {"runAt": "2030-01-01T00:00:00Z"}]}
    )

    # Factories, so that no default is shown: what is left out stays as it is.
    priority: StrictInt = Field(default_factory=int, ge=-32768, le=32767)
    queue: Annotated[Name, NoSlash] = Field(default_factory=str)
    tags: list[Name] = Field(default_factory=list, max_length=100)
    run_at: Instant = Field(default_factory=lambda: datetime.min)
    ttl: Length | None = None
    expires_at: Instant | None = None


class Reason(Input):
    reason: str | None = Field(None, max_length=4000, examples=["the customer called"])


class Error(Output):
    code: str | None
    message: str


class Job(Output):
    """A job as it is now. `can` are the verbs that the lifecycle allows."""

    id: int
    action: str
    version: int
    state: JobState
    step: str
    attempt: int
    queue: str
    priority: int
    key: str | None
    unique: str | None
    tags: list[str]
    input: Any
    output: Any
    error: Error | None
    progress: Any
    created_at: datetime
    run_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    expires_at: datetime | None
    cancel_requested_at: datetime | None
    cancel_reason: str | None
    awaits: list[str]
    await_until: datetime | None
    retry: Retry | None
    retry_of: int | None
    reply_to: int | None
    schedule: str | None
    worker: str | None
    created_by: str | None
    request_id: str | None
    trace: str | None
    can: list[str]


class JobAnswer(Answer):
    job: Job


class JobList(Answer):
    """A page, newest first. It may be short, or empty, and still go on: follow `nextCursor` until it is null."""

    jobs: list[Job]
    next_cursor: str | None


class Accepted(Output):
    """`isNew` is false where a job that was there already holds the unique key."""

    job: Job
    is_new: bool


class BatchAnswer(Answer):
    jobs: list[Accepted]


class Change(Output):
    id: int
    verb: str
    from_: JobState = Field(alias="from")
    to: JobState
    step: str
    attempt: int
    worker: str | None
    actor: str | None
    reason: str | None
    started_at: datetime | None
    at: datetime


class HistoryAnswer(Answer):
    history: list[Change]
    next_cursor: str | None


class SignalWanted(Input):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"name": "delivered", "payload": {"at": "noon"}, "dedupKey": "evt-7"}]
        }
    )

    name: Name
    payload: Any = None
    dedup_key: Name | None = Field(None, description="A second signal of this key is dropped.")


class Signal(Output):
    id: int
    name: str
    payload: Any
    dedup_key: str | None
    at: datetime
    consumed_at: datetime | None


class SignalList(Answer):
    signals: list[Signal]
    next_cursor: str | None


class Sent(Output):
    """What became of it: it `woke` the job, was `delivered` to its inbox, or is a `duplicate` and was dropped."""

    target: int
    name: str
    answer: Literal["woke", "delivered", "duplicate"]


class SignalAnswer(Answer):
    signal: Sent


class Filter(Input):
    """Which jobs: every field given must fit. `text` is looked for in action, key, tags, unique key and error."""

    state: JobState | list[JobState] | None = None
    action: Name | None = None
    queue: Name | None = None
    tag: Name | None = None
    key: Name | None = None
    schedule: Name | None = None
    text: Name | None = None
    from_: Instant | None = Field(None, alias="from", description="Created at this instant or later.")
    to: Instant | None = Field(None, description="Created before this instant.")


class BulkWanted(Input):
    """A filter, and where to go on; with `dryRun` nothing changes."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"filter": {"state": "failed", "action": "resize"}, "dryRun": True}]}
    )

    filter: Filter
    dry_run: Flag = False
    cursor: str | None = Field(None, max_length=100)
    reason: str | None = Field(None, max_length=4000, description="Why; kept with jobs that are cancelled.")


class BulkAnswer(Answer):
    """What came of this portion. Go on with `nextCursor` until it is null; a portion may match nothing."""

    matched: int = Field(le=PORTION)
    done: int
    refused: int
    next_cursor: str | None
