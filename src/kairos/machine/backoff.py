"""Retry as a policy: a `handle` that answers an error with Replay until the attempts are spent."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from kairos.durations import Duration, duration
from kairos.errors import BadDefinition, KairosError
from kairos.machine.outcome import Replay, Stop


@dataclass(frozen=True, slots=True)
class Backoff:
    """`attempts` executions in all, the n-th retry after `base * factor**n`, never more than `cap`.

    Each delay is stretched or shortened by up to `jitter` of itself, so that jobs that failed
    together do not come back together.
    """

    attempts: int = 5
    base: Duration = 1
    factor: float = 2
    cap: Duration = "1h"
    jitter: float = 0.1

    def __post_init__(self) -> None:
        if isinstance(self.attempts, bool) or not isinstance(self.attempts, int) or self.attempts < 1:
            raise BadDefinition(
                f"Backoff(attempts={self.attempts}) would never run: give a whole number from 1."
            )
        if not 1 <= self.factor <= sys.float_info.max:
            raise BadDefinition(
                f"Backoff(factor={self.factor}) would not wait longer each time: give at least 1."
            )
        if not 0 <= self.jitter <= 1:
            raise BadDefinition(f"Backoff(jitter={self.jitter}) is a share of the delay: give 0 to 1.")
        duration(self.base, "base")
        duration(self.cap, "cap")

    def __call__(self, error: BaseException, ctx: Any) -> Replay | Stop:
        if ctx.attempt + 1 >= self.attempts:
            return Stop(f"{type(error).__name__}: {error}")
        return Replay(delay=self.delay(ctx.attempt))

    def as_json(self) -> dict[str, Any]:
        """The policy as it is stored with a job and shown, its lengths of time in seconds."""
        return {
            "attempts": self.attempts,
            "base": duration(self.base, "base").total_seconds(),
            "factor": float(self.factor),
            "cap": duration(self.cap, "cap").total_seconds(),
            "jitter": float(self.jitter),
        }

    def delay(self, attempt: int) -> timedelta:
        """How long to wait after `attempt` failed; any attempt number is safe."""
        base = duration(self.base, "base").total_seconds()
        cap = duration(self.cap, "cap").total_seconds()
        try:
            grown = min(base * float(self.factor) ** attempt, cap)
        except OverflowError:
            grown = cap if base else 0.0
        # Spread before the cap is applied once more: at the cap they must not come back together either.
        spread = random.uniform(1 - self.jitter, 1 + self.jitter)  # noqa: S311 (no secret)
        return timedelta(seconds=min(grown * spread, cap))


def read_policy(stored: str | None) -> Backoff | None:
    """The policy that a job carries; None where it is left to its machine."""
    return None if stored is None else Backoff(**json.loads(stored))


def shown_policy(stored: Any) -> Backoff | None:
    """What can be shown of a policy that others wrote, newer ones among them; None where it cannot be read at all.

    Whoever is to follow it reads it by `read_policy`, which refuses what it does not know.
    """
    if not isinstance(stored, dict):
        return None
    known = {field.name for field in fields(Backoff)}
    try:
        return Backoff(**{name: value for name, value in stored.items() if name in known})
    except (KairosError, TypeError, ValueError, OverflowError):
        return None
