"""The schema of a retry policy that a request gives a job."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictFloat, StrictInt, StrictStr, ValidationInfo
from pydantic_core import PydanticCustomError

from kairos.api.schemas.base import Input
from kairos.durations import duration
from kairos.errors import BadRequest
from kairos.machine.backoff import Backoff
from kairos.machine.call import MOST_ATTEMPTS


def _is_length(value: Any, info: ValidationInfo) -> Any:
    try:
        duration(value, info.field_name or "length")
    except BadRequest as error:
        raise PydanticCustomError("length", "{why}", {"why": error.message.rstrip(".")}) from error
    return value


Wait = Annotated[
    StrictStr | StrictInt | StrictFloat,
    BeforeValidator(_is_length),
    Field(description='Seconds, or text such as "90s", "5m", "1h 30m".'),
]
_USUAL = Backoff()


class RetryWanted(Input):
    """`attempts` executions in all, the n-th retry after `base * factor**n`, at most `cap`, give or take `jitter`."""

    attempts: StrictInt = Field(ge=1, le=MOST_ATTEMPTS)
    base: Wait = _USUAL.base  # type: ignore[assignment]
    factor: float = Field(_USUAL.factor, ge=1, strict=True, allow_inf_nan=False)
    cap: Wait = _USUAL.cap  # type: ignore[assignment]
    jitter: float = Field(_USUAL.jitter, ge=0, le=1, strict=True, allow_inf_nan=False)

    def policy(self) -> Backoff:
        return Backoff(self.attempts, self.base, self.factor, self.cap, self.jitter)
