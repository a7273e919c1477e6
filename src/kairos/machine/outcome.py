"""The five outcomes that a step may return; only an outcome moves a job on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeAlias, get_args

from kairos.durations import Duration, duration
from kairos.errors import BadOutcome, BadRequest
from kairos.machine.field_checks import check_name


class _Unchanged:
    def __repr__(self) -> str:
        return "UNCHANGED"


# Marks a state that was not given and stays unchanged; None is a valid state.
UNCHANGED: Final = _Unchanged()


@dataclass(frozen=True, slots=True)
class Next:
    """Continue with `step`, whose attempts count from 0."""

    step: str
    state: Any = UNCHANGED


@dataclass(frozen=True, slots=True)
class Replay:
    """Run the same step again after `delay`, as the next attempt."""

    state: Any = UNCHANGED
    delay: Duration = 0

    @property
    def wait(self) -> timedelta:
        return duration(self.delay, "delay")


@dataclass(frozen=True, slots=True, init=False)
class Await:
    """Park until a signal of one of `names` arrives; then the same step runs again and sees it.

    After `timeout` the job continues without a signal: at the step `then`, or at the same step, where
    `ctx.timed_out` is set.
    """

    names: tuple[str, ...]
    state: Any
    timeout: Duration | None
    then: str | None

    def __init__(
        self, *names: str, state: Any = UNCHANGED, timeout: Duration | None = None, then: str | None = None
    ) -> None:
        if not names or not all(isinstance(name, str) and name for name in names):
            raise BadOutcome("Await needs the names of the signals it waits for, such as Await('paid').")
        try:
            for name in names:
                check_name(name, "name")
        except BadRequest as error:
            raise BadOutcome(f"Await has an invalid signal name: {error}") from error
        if then is not None and timeout is None:
            raise BadOutcome("Await has a follow-up step but no timeout that would lead to it.")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "state", state)
        object.__setattr__(self, "timeout", timeout)
        object.__setattr__(self, "then", then)

    @property
    def wait(self) -> timedelta | None:
        return None if self.timeout is None else duration(self.timeout, "timeout")


@dataclass(frozen=True, slots=True)
class Done:
    """End the job in success with `result`."""

    result: Any = None


@dataclass(frozen=True, slots=True)
class Stop:
    """End the job as failed, for `reason`."""

    reason: Any = "stopped"


Outcome: TypeAlias = Next | Replay | Await | Done | Stop
OUTCOMES: tuple[type[Outcome], ...] = get_args(Outcome)
