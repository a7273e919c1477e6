"""A retry policy: a `handle` function that returns Replay for an error until the attempts are used up."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from kairos.durations import Duration, duration
from kairos.errors import BadDefinition, KairosError
from kairos.machine.outcome import Replay, Stop
from kairos.other_libraries import BACKOFF
from kairos.suggest import did_you_mean

Errors: TypeAlias = type[BaseException] | str | Sequence["type[BaseException] | str"]


@dataclass(frozen=True, slots=True)
class Backoff:
    """Allow `attempts` executions in all, the n-th retry after `base * factor**n`, at most `cap`.

    Each delay is stretched or shortened by up to `jitter` of itself, so that jobs that failed
    together do not come back together. `only` and `never` are exception classes, with their subclasses: an error
    that is none of `only`, or is one of `never`, is not retried. `within` is how long after the job's first start a
    retry may begin.
    """

    attempts: int = 5
    base: Duration = 1
    factor: float = 2
    cap: Duration = "1h"
    jitter: float = 0.1
    only: Errors = ()
    never: Errors = ()
    within: Duration | None = None

    if not TYPE_CHECKING:  # a type checker refuses unknown names by itself

        def __new__(cls, *_: Any, **given: Any) -> Backoff:
            for name in given:
                if name not in cls.__dataclass_fields__:
                    meant = BACKOFF.get(name)
                    hint = f" Write {meant}." if meant else did_you_mean(name, cls.__dataclass_fields__)
                    raise BadDefinition(f"Backoff has no {name!r}.{hint}")
            return object.__new__(cls)

    def __post_init__(self) -> None:
        if isinstance(self.attempts, bool) or not isinstance(self.attempts, int) or self.attempts < 1:
            raise BadDefinition(
                f"attempts of Backoff is {self.attempts!r}; it must be a whole number from 1, the first execution "
                "included."
            )
        if not 1 <= self.factor <= sys.float_info.max:
            raise BadDefinition(
                f"Backoff(factor={self.factor}) would not wait longer each time: give at least 1."
            )
        if not 0 <= self.jitter <= 1:
            raise BadDefinition(f"Backoff(jitter={self.jitter}) is a share of the delay: give 0 to 1.")
        duration(self.base, "base")
        duration(self.cap, "cap")
        if self.within is not None:
            duration(self.within, "within")
        for field in ("only", "never"):
            object.__setattr__(self, field, _names(getattr(self, field), field))

    def __call__(self, error: BaseException, ctx: Any) -> Replay | Stop:
        delay = self.delay(ctx.attempt)
        if ctx.attempt + 1 >= self.attempts or not self._retries(error) or self._too_late(ctx, delay):
            return Stop(f"{type(error).__name__}: {error}")
        return Replay(delay=delay)

    def _retries(self, error: BaseException) -> bool:
        classes = {name for each in type(error).__mro__ for name in (each.__qualname__, _name(each))}
        only, never = _names(self.only, "only"), _names(self.never, "never")
        return not classes & set(never) and (not only or bool(classes & set(only)))

    def _too_late(self, ctx: Any, delay: timedelta) -> bool:
        running: timedelta | None = getattr(ctx, "since_start", None)
        if self.within is None or running is None:
            return False
        return running + delay > duration(self.within, "within")

    def as_json(self) -> dict[str, Any]:
        """Return the policy as JSON for display, with durations in seconds."""
        return {
            "attempts": self.attempts,
            "base": duration(self.base, "base").total_seconds(),
            "factor": float(self.factor),
            "cap": duration(self.cap, "cap").total_seconds(),
            "jitter": float(self.jitter),
        }

    def stored(self) -> dict[str, Any]:
        """Return all of the policy as JSON; exception classes are stored by their names."""
        more: dict[str, Any] = {
            "only": list(_names(self.only, "only")),
            "never": list(_names(self.never, "never")),
        }
        if self.within is not None:
            more["within"] = duration(self.within, "within").total_seconds()
        return self.as_json() | {name: value for name, value in more.items() if value}

    def delay(self, attempt: int) -> timedelta:
        """Return the delay after `attempt` failed; large attempt numbers do not overflow."""
        base = duration(self.base, "base").total_seconds()
        cap = duration(self.cap, "cap").total_seconds()
        try:
            grown = min(base * float(self.factor) ** attempt, cap)
        except OverflowError:
            grown = cap if base else 0.0
        # Drawn from the range below the cap: if longer delays were cut off, half of those at the cap would be equal.
        low, high = grown * (1 - self.jitter), min(grown * (1 + self.jitter), cap)
        return timedelta(seconds=random.uniform(low, high))  # noqa: S311 (no secret)


def _names(given: Any, field: str) -> tuple[str, ...]:
    """Return the names of exception classes, given as classes or as names: a policy holds names only."""
    found = given if isinstance(given, list | tuple | set | frozenset) else (given,)
    names = []
    for each in found:
        if isinstance(each, type) and issubclass(each, BaseException):
            names.append(_name(each))
        elif isinstance(each, str) and each:
            names.append(each)
        else:
            raise BadDefinition(
                f"Backoff({field}={each!r}) takes exception classes, such as ConnectionError."
            )
    return tuple(names)


def _name(error: type[BaseException]) -> str:
    return (
        error.__qualname__ if error.__module__ == "builtins" else f"{error.__module__}.{error.__qualname__}"
    )


def write_policy(policy: Backoff | None) -> str | None:
    """Return the policy as it is stored with a job or a schedule."""
    return None if policy is None else json.dumps(policy.stored())


def read_policy(stored: str | None) -> Backoff | None:
    """Return the policy stored with a job; None if the job uses its machine's policy."""
    return None if stored is None else Backoff(**json.loads(stored))


def shown_policy(stored: Any) -> Backoff | None:
    """Return the displayable part of a stored policy, which a newer version may have written; None if unreadable.

    Workers use `read_policy` instead, which raises for anything unknown.
    """
    if not isinstance(stored, dict):
        return None
    known = {field.name for field in fields(Backoff)}
    try:
        return Backoff(**{name: value for name, value in stored.items() if name in known})
    except (KairosError, TypeError, ValueError, OverflowError):
        return None
