"""The arguments that built-in actions share: durations, and how many attempts a job has."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from kairos.durations import duration
from kairos.errors import BadRequest
from kairos.machine.backoff import Backoff
from kairos.machine.context import Context
from kairos.machine.outcome import Replay, Stop


def _checked(value: str | float) -> str | float:
    if not duration(value, "timeout"):
        raise BadRequest("timeout is 0; it must be positive.", field="timeout")
    return value


# Seconds, or text such as "90s".
Length = Annotated[str | float, AfterValidator(_checked)]
Attempts = Annotated[int, Field(ge=1, le=1000)]


def retry_by_attempts(error: Exception, ctx: Context[Any]) -> Replay | Stop:
    """Retry as often as the job's argument `attempts` says; what was refused once would be refused again."""
    if isinstance(error, BadRequest):
        return Stop(error.message)
    return Backoff(attempts=ctx.state.attempts)(error, ctx)
