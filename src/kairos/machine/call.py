"""A call: which machine, with what, and how it is to be scheduled. Checked here, before anything is stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from kairos.durations import Duration, duration
from kairos.errors import BadRequest
from kairos.fsm.lifecycle import LIVE_STATUSES, Status
from kairos.machine.backoff import Backoff
from kairos.machine.names import LARGEST_ID, OWN_QUEUE, check_instant, check_name, check_queue, check_range

# Options that say where a call comes from, and are not for people to set.
ORIGIN = frozenset({"actor", "request_id", "trace"})

# What the column that counts them can hold.
MOST_ATTEMPTS = 2**31 - 1

# Either the key is free once the job has started, or it is taken all its life (and longer, if wished).
SCOPES: dict[str, tuple[Status, ...]] = {
    "queued": (Status.RUNNABLE,),
    "live": LIVE_STATUSES,
    "ever": tuple(Status),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How one job is scheduled; what is None comes from the machine or the defaults."""

    queue: str | None = None
    priority: int = 0
    run_at: datetime | None = None
    delay: Duration | None = None
    when: str | None = None  # an instant in words, read by the database's clock when the job is accepted
    tz: str = "UTC"
    ttl: Duration | None = None
    expires_at: datetime | None = None
    key: str | None = None
    ordered: bool = False
    unique: str | None = None
    unique_scope: str | Sequence[Status | str] = "live"
    if_taken: str = "raise"
    reply_to: tuple[int, str] | None = None
    tags: Sequence[str] = ()
    max_reaps: int = 5
    retry: Backoff | None = None  # in place of what the machine answers an error with
    # Who asks, over which request and within which trace: set by whoever serves, never by `options(...)`.
    actor: str | None = None
    request_id: str | None = None
    trace: str | None = None
    delay_by: timedelta | None = field(init=False, default=None)
    ttl_by: timedelta | None = field(init=False, default=None)
    scope: tuple[Status, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        for name in ("queue", "key", "unique"):
            if (value := getattr(self, name)) is not None:
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
            raise BadRequest("ordered=True orders the jobs of a key: give a key too.", field="ordered")
        if self.if_taken not in ("raise", "return"):
            raise BadRequest(f'if_taken is {self.if_taken!r}; it is "raise" or "return".', field="if_taken")
        if isinstance(self.tags, str) or not isinstance(self.tags, Iterable):
            raise BadRequest(f"tags is {self.tags!r}; give a list of texts.", field="tags")
        for tag in self.tags:
            check_name(tag, "tags")
        if self.reply_to is not None:
            _check_reply(self.reply_to)
        if self.retry is not None:
            _check_retry(self.retry)
        if self.delay is not None:
            object.__setattr__(self, "delay_by", duration(self.delay, "delay"))
        if self.ttl is not None:
            object.__setattr__(self, "ttl_by", duration(self.ttl, "ttl"))
        object.__setattr__(self, "scope", _scope(self.unique_scope))


@dataclass(frozen=True, slots=True)
class Call:
    """One job to be: `state` is the machine's first state as JSON text, of which `redact` is shown to nobody."""

    action: str
    version: int
    step: str
    state: str
    queue: str
    ttl: timedelta | None
    options: Options
    redact: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.queue == OWN_QUEUE:
            check_queue(self.queue, self.action)
        if self.options.run_at is not None:
            check_end(self.options.run_at, self.options.ttl_by or self.ttl)


def check_end(run_at: datetime, ttl: timedelta | None) -> None:
    """Refuse a TTL that would close after the last year of the calendar."""
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
            "unique_scope must be just the status before the start, or all live statuses and any ended ones: "
            "a key that is left and entered again could collide in the middle of a job.",
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
            f"retry is {retry!r}; a job carries a Backoff, such as Backoff(attempts=5), and any other policy is code.",
            field="retry",
        )
    check_range(retry.attempts, "retry.attempts", 1, MOST_ATTEMPTS)


def _refuse_both(options: Options, one: str, other: str) -> None:
    if getattr(options, one) is not None and getattr(options, other) is not None:
        raise BadRequest(f"{one} and {other} say the same thing twice: give one of them.", field=one)
