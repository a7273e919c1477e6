"""A job."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from kairos.errors import BadRequest, InvalidTransition, JobFailed
from kairos.fsm.lifecycle import TERMINAL, JobState
from kairos.fsm.requests import REQUEST_BY_TARGET, can
from kairos.machine.backoff import Backoff, shown_policy
from kairos.other_libraries import JOB, missing_attribute
from kairos.shapes.shape import Hidden, Shown, shape


@shape("Error")
@dataclass(frozen=True, slots=True)
class JobError:
    """Why a job did not succeed."""

    code: str | None
    message: str
    fingerprint: str | None


@shape("Retry")
@dataclass(frozen=True, slots=True)
class Retry:
    """A job's own retry policy, its lengths of time in seconds."""

    attempts: int
    base: float
    factor: float
    cap: float
    jitter: float


def _stored_policy(stored: str) -> Backoff | None:
    return shown_policy(json.loads(stored))


def _text(stored: bytes) -> str:
    # Some drivers answer with a memoryview; bytes that are no text come from an INSERT of another program.
    return bytes(stored).decode(errors="backslashreplace")


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))  # a job and its machine may redact the same field


class _Bound:
    """Holds the client's function that changes a job. It is no field, so copies and pickles do not have it."""

    __slots__ = ("_change",)
    _change: Callable[..., Any]


@shape("Job", parts={"error": JobError}, derived=("can", "parent"))
@dataclass(slots=True)  # not frozen: that triples the cost of each, and a batch builds thousands
class Job(_Bound):
    """A job as it was when it was read. `can` are the requests that its state allows."""

    id: int
    action: Annotated[str, Shown(column="fsm")]
    version: Annotated[int, Shown(column="fsm_version")]
    state: JobState
    step: str
    attempt: int
    queue: str
    priority: int
    key: Annotated[str | None, Shown(column="partition_key")]
    tags: tuple[str, ...]
    input: Any
    output: Annotated[Any, Shown(column="result")] = None
    error_code: Annotated[str | None, Shown("error.code")] = None
    error: Annotated[str | None, Shown("error.message", column="last_error")] = None
    progress: Any = None
    inserted_at: Annotated[datetime | None, Shown("createdAt", schema=datetime)] = None
    run_at: Annotated[datetime | None, Shown(column="eligible_at", schema=datetime)] = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    expires_at: datetime | None = None
    cancel_requested_at: datetime | None = None
    cancel_reason: str | None = None
    retry: Annotated[  # its own, in place of its machine's
        Backoff | None,
        Shown(
            schema=Retry | None,
            read=_stored_policy,
            write=Backoff.as_json,
            parse=shown_policy,
        ),
    ] = None
    retry_of: int | None = None
    reply_to: int | None = None
    schedule: str | None = None
    worker: Annotated[str | None, Shown(column="locked_by")] = None
    awaits: tuple[str, ...] = ()
    await_until: datetime | None = None
    machine_state: Any = None
    unique: Annotated[str | None, Shown(column="unique_key", read=_text)] = None
    reaps: Annotated[int, Hidden()] = 0
    created_by: str | None = None
    request_id: str | None = None
    trace: str | None = None
    redact: Annotated[tuple[str, ...], Hidden(read=_distinct)] = ()
    error_group: Annotated[str | None, Shown("error.fingerprint")] = None  # of the failure that ended it
    # False if an enqueue returned the job that already had the unique key.
    is_new: Annotated[bool, Hidden(column=None)] = True

    @property
    def is_terminal(self) -> bool:
        return self.state in TERMINAL

    @property
    def can(self) -> tuple[str, ...]:
        """The requests that its state allows."""
        return can(self.state)

    @property
    def parent(self) -> int | None:
        """The job that it replies to when it ends."""
        return self.reply_to

    def transition(self, target: JobState | str, **details: Any) -> Any:
        """Move the job to `target` by the request that leads there, or raise `InvalidTransition`.

        `details` are those of the request, such as a `reason`. Awaitable when the job came from an async client. A copy
        of a job has no client, and is refused.
        """
        try:
            state = JobState(target)
        except ValueError as error:
            raise BadRequest(f"There is no state {target!r}; it is one of {', '.join(JobState)}.") from error
        request = REQUEST_BY_TARGET.get(state)
        if request is None or self.state not in request.allowed_in:
            raise InvalidTransition(
                f"Job {self.id} is {self.state} and cannot become {state}; "
                f"allowed now: {', '.join(self.can)}.",
                current=self.state,
                target=state,
                allowed=self.can,
            )
        change = getattr(self, "_change", None)
        if change is None:
            raise BadRequest(
                f"This copy of job {self.id} has no client to change it with: "
                f"read the job again with get({self.id})."
            )
        return change(request.name, self, **details)

    def bound(self, change: Callable[..., Any]) -> Job:
        """Bind the job to the client that read it, so that `transition` works; return the job."""
        self._change = change
        return self

    if not TYPE_CHECKING:  # a type checker reports unknown names itself

        def __getattr__(self, name: str) -> Any:
            raise missing_attribute(self, "A job", name, JOB.get(name))

    def __repr__(self) -> str:
        """Leave out input and output: they may be long, and contain redacted fields."""
        return f"Job(id={self.id}, action={self.action!r}, state={str(self.state)!r}, queue={self.queue!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy or pickle only the fields."""
        return type(self), tuple(getattr(self, name) for name in _FIELDS)


_FIELDS = tuple(each.name for each in fields(Job))
_INPUT, _MACHINE_STATE = _FIELDS.index("input"), _FIELDS.index("machine_state")


def jobs_like(first: Job, ids: Sequence[int], inputs: Sequence[Any]) -> list[Job]:
    """Return new jobs that differ from the first one only in their ids and their inputs, which are also their states.

    Arguments are passed by position: by name each job takes three times as long, and a batch builds thousands.
    """
    if len(ids) == 1:
        return [first]
    values = [getattr(first, name) for name in _FIELDS]
    before, between = values[1:_INPUT], values[_INPUT + 1 : _MACHINE_STATE]
    after = values[_MACHINE_STATE + 1 :]
    return [Job(id_, *before, given, *between, given, *after) for id_, given in zip(ids, inputs, strict=True)]  # type: ignore[call-arg]


def failure_of(job: Job) -> JobFailed:
    """Return the error that `result` raises for a job that ended without success."""
    return JobFailed(f"Job {job.id} ({job.action}) is {job.state}: {job.error or job.cancel_reason}", job=job)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list; `next` is the id to continue before, also after an empty page, and None at the end.

    `searched_to` is set if no index matches the filters and the search stopped before the page was full: jobs created
    before that instant were not examined.
    """

    jobs: list[Job]
    next: int | None
    searched_to: datetime | None = None
