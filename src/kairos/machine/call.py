"""A call: a machine, its arguments and its scheduling options, all validated before anything is stored."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from kairos.durations import Duration, duration
from kairos.errors import BadRequest
from kairos.fsm.lifecycle import LIVE_STATUSES, Status
from kairos.machine.backoff import Backoff
from kairos.machine.field_checks import (
    LARGEST_ID,
    OWN_QUEUE,
    check_instant,
    check_name,
    check_queue,
    check_range,
    check_tags,
)

# Options that record the origin of a call; users cannot set them.
ORIGIN = frozenset({"actor", "request_id", "trace", "retry_of"})

# The largest value of the column `max_reaps`.
MOST_ATTEMPTS = 2**31 - 1

# The unique key is held either until the job starts, or for its whole life (and longer, if wished).
SCOPES: dict[str, tuple[Status, ...]] = {
    "queued": (Status.RUNNABLE,),
    "live": LIVE_STATUSES,
    "ever": tuple(Status),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How one job is scheduled; None means the machine's value or the default."""

    queue: str | None = None
    priority: int = 0
    run_at: datetime | None = None
    delay: Duration | None = None
    when: str | None = None  # a time in words, read by the database's clock when the job is accepted
    tz: str = "UTC"
    ttl: Duration | None = None
    expires_at: datetime | None = None
    key: str | Callable[..., str] | None = None  # a function of the arguments: the call has what it returned
    ordered: bool = False
    unique: str | None = None
    unique_scope: str | Sequence[Status | str] = "live"
    if_taken: str = "raise"
    reply_to: tuple[int, str] | None = None
    tags: Sequence[str] = ()
    max_reaps: int = 5
    retry: Backoff | None = None  # replaces the machine's own error handling
    # Who enqueued it, by which request and trace, and the job that it runs again: set by the service, never by
    # `options(...)`.
    actor: str | None = None
    request_id: str | None = None
    trace: str | None = None
    retry_of: int | None = None
    delay_by: timedelta | None = field(init=False, default=None)
    ttl_by: timedelta | None = field(init=False, default=None)
    scope: tuple[Status, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        for name in ("queue", "key", "unique"):
            if (value := getattr(self, name)) is not None and not (name == "key" and callable(value)):
                check_name(value, name)
        check_range(self.priority, "priority", -32768, 32767)
        check_range(self.max_reaps, "max_reaps", 0, 32767)
        for name in ("run_at", "expires_at"):
            if (instant := getattr(self, name)) is not None:
                check_instant(instant, name)
        _refuse_both(self, "run_at", "delay")
        _refuse_both(self, "run_at", "when")
        _refuse_both(self, "delay", "when")
        _refuse_both(self, "ttl", "expires_at")
        if self.ordered and self.key is None:
            raise BadRequest(
                "ordered=True applies to the jobs of a partition key: give a key too.", field="ordered"
            )
        if self.if_taken not in ("raise", "return"):
            raise BadRequest(f'if_taken is {self.if_taken!r}; it is "raise" or "return".', field="if_taken")
        check_tags(self.tags)
        if self.reply_to is not None:
            _check_reply(self.reply_to)
        if self.retry is not None:
            _check_retry(self.retry)
        if self.delay is not None:
            object.__setattr__(self, "delay_by", duration(self.delay, "delay"))
        if self.ttl is not None:
            object.__setattr__(self, "ttl_by", duration(self.ttl, "ttl"))
        object.__setattr__(self, "scope", _scope(self.unique_scope))

    @property
    def key_text(self) -> str | None:
        """The partition key; None if there is none, or if it is a function that has not been called yet."""
        return self.key if isinstance(self.key, str) else None


# The options that `options(...)` takes.
OPTION_NAMES = frozenset(each.name for each in fields(Options) if each.init) - ORIGIN


# Not frozen, though it is never changed: a batch makes thousands, and freezing triples the cost of each.
@dataclass(slots=True, unsafe_hash=True)
class Call:
    """One job to enqueue: `state` is the machine's first state as JSON text.

    Fields in `redact` are never shown; those in `search` are found by their value.
    """

    action: str
    version: int
    step: str
    state: str
    queue: str
    ttl: timedelta | None
    options: Options
    redact: tuple[str, ...] = ()
    search: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.queue == OWN_QUEUE:
            check_queue(self.queue, self.action)
        if self.options.run_at is not None:
            check_end(self.options.run_at, self.options.ttl_by or self.ttl)

    @property
    def job_ttl(self) -> timedelta | None:
        """The TTL of the job: that of the options, or else of the machine; None if the job expires at an instant."""
        if self.options.expires_at is not None:
            return None
        return self.ttl if self.options.ttl_by is None else self.options.ttl_by


class CallableMachine(Protocol):
    """The part of a machine that a call needs, from code or from the database."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def queue(self) -> str: ...
    @property
    def initial(self) -> str: ...
    @property
    def ttl(self) -> timedelta | None: ...
    @property
    def redact(self) -> Collection[str]: ...
    @property
    def search(self) -> Sequence[str]: ...
    def first_state(self, values: Mapping[str, Any]) -> str: ...
    def load(self, text: str) -> Any: ...


def make_call(machine: CallableMachine, arguments: Mapping[str, Any], options: Options) -> Call:
    """Validate the arguments and return a call of the machine."""
    state = machine.first_state(arguments)
    options = _with_key(options, machine, state)
    return Call(
        action=machine.name,
        version=machine.version,
        step=machine.initial,
        state=state,
        queue=options.queue or machine.queue,
        ttl=machine.ttl,
        options=options,
        redact=tuple(sorted(machine.redact)) if machine.redact else (),
        search=tuple(machine.search),
    )


def _with_key(options: Options, machine: CallableMachine, state: str) -> Options:
    """Return the options with the key that its function computes from the arguments."""
    if options.key is None or isinstance(options.key, str):
        return options
    arguments = machine.load(state)
    given = {name: getattr(arguments, name) for name in inspect.signature(options.key).parameters}
    key = options.key(**given)
    if not isinstance(key, str):
        raise BadRequest(
            f"The key of {machine.name!r} was computed as {key!r}; it must be text.", field="key"
        )
    return replace(options, key=key)


def check_end(run_at: datetime, ttl: timedelta | None) -> None:
    """Refuse a TTL that would end after the year 9999."""
    try:
        _ = run_at.astimezone(UTC) + (ttl or timedelta(0))
    except OverflowError as error:
        raise BadRequest(f"A TTL of {ttl} from {run_at} ends after the year 9999.", field="ttl") from error


def _scope(wanted: str | Sequence[Status | str]) -> tuple[Status, ...]:
    if isinstance(wanted, str):
        if wanted not in SCOPES:
            raise BadRequest(
                f"unique_scope is {wanted!r}; it is one of {', '.join(SCOPES)}, or a list of statuses.",
                field="unique_scope",
            )
        return SCOPES[wanted]
    try:
        scope = tuple(Status(name) for name in wanted)
    except (TypeError, ValueError) as error:
        raise BadRequest(f"unique_scope names no status: {error}.", field="unique_scope") from error
    if set(scope) != set(SCOPES["queued"]) and not set(scope) >= set(SCOPES["live"]):
        raise BadRequest(
            "unique_scope must be either just runnable, or all live statuses with or without ended ones: "
            "otherwise a job could lose its unique key and collide when it takes the key again.",
            field="unique_scope",
        )
    return scope


def _check_reply(reply_to: Any) -> None:
    if not isinstance(reply_to, tuple) or len(reply_to) != 2:
        raise BadRequest(f"reply_to is {reply_to!r}; give a job's id and a signal's name.", field="reply_to")
    check_range(reply_to[0], "reply_to", 1, LARGEST_ID)
    check_name(reply_to[1], "reply_to")


def _check_retry(retry: Any) -> None:
    if not isinstance(retry, Backoff):
        raise BadRequest(
            f"retry is {retry!r}; give a Backoff, such as Backoff(attempts=5): a job can store no other policy.",
            field="retry",
        )
    check_range(retry.attempts, "retry.attempts", 1, MOST_ATTEMPTS)


def _refuse_both(options: Options, one: str, other: str) -> None:
    if getattr(options, one) is not None and getattr(options, other) is not None:
        raise BadRequest(f"{one} and {other} say the same thing twice: give one of them.", field=one)
