"""The lifecycle: the table of every state a job can be in and every transition between them.

Everything else is rendered from this module or checked against it: the Postgres guard, the
dashboard's diagram, the docs, the stateful tests. What a client may ask for is in `requests.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kairos.fsm.state_machine import Edge, Spec


class Status(StrEnum):
    """The status that the database stores (`durable_status`)."""

    RUNNABLE = "runnable"
    EXECUTING = "executing"
    AWAITING_SIGNAL = "awaiting_signal"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class JobState(StrEnum):
    """The state that people read. It is the stored status, but `runnable` is scheduled (due later) or pending (due)."""

    SCHEDULED = "scheduled"
    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCESS = "success"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Verb(StrEnum):
    PICK = "pick"
    NEXT = "next"
    REPLAY = "replay"
    FAIL = "fail"
    RETRY = "retry"
    AWAIT = "await"
    DONE = "done"
    STOP = "stop"
    YIELD = "yield"
    REAP = "reap"
    RELEASE = "release"
    WAKE = "wake"
    TIMEOUT = "timeout"
    CANCEL = "cancel"
    RUN_NOW = "run_now"
    SNOOZE = "snooze"
    EXPIRE = "expire"


class By(StrEnum):
    """Who makes a change."""

    WORKER = "worker"
    REAPER = "reaper"
    SWEEPER = "sweeper"
    SENDER = "sender"
    CLIENT = "client"


STORED: dict[JobState, Status] = {
    JobState.SCHEDULED: Status.RUNNABLE,
    JobState.PENDING: Status.RUNNABLE,
    JobState.RUNNING: Status.EXECUTING,
    JobState.WAITING: Status.AWAITING_SIGNAL,
    JobState.SUCCESS: Status.DONE,
    JobState.FAILED: Status.FAILED,
    JobState.CANCELLED: Status.CANCELLED,
    JobState.EXPIRED: Status.EXPIRED,
}


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the table; with `within`, it happens only inside the commit of that other verb."""

    verb: Verb
    sources: tuple[JobState, ...]
    target: JobState
    by: By
    because: str
    within: Verb | None = None


_S = JobState

TRANSITIONS: tuple[Transition, ...] = (
    Transition(Verb.PICK, (_S.PENDING,), _S.RUNNING, By.WORKER, "a worker took the lease"),
    Transition(Verb.NEXT, (_S.RUNNING,), _S.PENDING, By.WORKER, "the step returned Next"),
    Transition(Verb.REPLAY, (_S.RUNNING,), _S.SCHEDULED, By.WORKER, "the step returned Replay"),
    Transition(Verb.FAIL, (_S.RUNNING,), _S.FAILED, By.WORKER, "the attempt raised an error"),
    Transition(
        Verb.RETRY,
        (_S.FAILED,),
        _S.SCHEDULED,
        By.WORKER,
        "its error was answered with another attempt",
        within=Verb.FAIL,
    ),
    Transition(Verb.AWAIT, (_S.RUNNING,), _S.WAITING, By.WORKER, "the step returned Await"),
    Transition(Verb.DONE, (_S.RUNNING,), _S.SUCCESS, By.WORKER, "the step returned Done"),
    Transition(
        Verb.STOP, (_S.RUNNING,), _S.FAILED, By.WORKER, "the step returned Stop, or its attempts are spent"
    ),
    Transition(Verb.YIELD, (_S.RUNNING,), _S.CANCELLED, By.WORKER, "the step honoured a cancel request"),
    Transition(Verb.REAP, (_S.RUNNING,), _S.PENDING, By.REAPER, "the lease expired"),
    Transition(Verb.RELEASE, (_S.RUNNING,), _S.PENDING, By.WORKER, "the worker handed it back unrun"),
    Transition(Verb.WAKE, (_S.WAITING,), _S.PENDING, By.SENDER, "an awaited signal arrived"),
    Transition(Verb.TIMEOUT, (_S.WAITING,), _S.PENDING, By.SWEEPER, "the deadline of the await passed"),
    Transition(
        Verb.CANCEL,
        (_S.SCHEDULED, _S.PENDING, _S.WAITING),
        _S.CANCELLED,
        By.CLIENT,
        "it was cancelled before it ran",
    ),
    Transition(Verb.RUN_NOW, (_S.SCHEDULED,), _S.PENDING, By.CLIENT, "its time was brought forward"),
    Transition(
        Verb.SNOOZE, (_S.SCHEDULED, _S.PENDING), _S.SCHEDULED, By.CLIENT, "it was put off by a person"
    ),
    Transition(
        Verb.EXPIRE,
        (_S.SCHEDULED, _S.PENDING),
        _S.EXPIRED,
        By.SWEEPER,
        "its TTL closed before a worker took it",
    ),
)

TERMINAL: tuple[JobState, ...] = (_S.SUCCESS, _S.FAILED, _S.CANCELLED, _S.EXPIRED)
LIVE: tuple[JobState, ...] = tuple(state for state in JobState if state not in TERMINAL)

TERMINAL_STATUSES: frozenset[Status] = frozenset(STORED[state] for state in TERMINAL)
LIVE_STATUSES: tuple[Status, ...] = tuple(status for status in Status if status not in TERMINAL_STATUSES)

SPEC = Spec(
    name="job",
    states=tuple(JobState),
    initial=(_S.SCHEDULED, _S.PENDING),
    terminal=frozenset(TERMINAL),
    edges=tuple(
        Edge(row.verb, source, row.target, row.by, row.because)
        for row in TRANSITIONS
        for source in row.sources
    ),
)


def can_transition(current: JobState | str, target: JobState | str) -> bool:
    """Whether a job in `current` may move to `target`.

    `retry` is excluded: it happens only inside the commit that records a failure.
    """
    source, wanted = JobState(current), JobState(target)
    return any(source in row.sources and wanted == row.target for row in TRANSITIONS if row.within is None)


def stored_pairs() -> tuple[tuple[Status, Status], ...]:
    """Return every change of stored status that may be committed, each once, in the table's order.

    A transition that is only part of another one's commit (`within`) is never stored by itself.
    """
    pairs = {
        (STORED[source], STORED[row.target]): None
        for row in TRANSITIONS
        if row.within is None
        for source in row.sources
        if STORED[source] != STORED[row.target]
    }
    # The two rows of an automatic retry are one stored change: running -> scheduled.
    return tuple(pairs)
