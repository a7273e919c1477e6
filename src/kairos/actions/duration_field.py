"""The Pydantic type of a duration argument: seconds, or text such as "90s"."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from kairos.durations import duration
from kairos.errors import BadRequest


def _checked(value: str | float) -> str | float:
    if not duration(value, "timeout"):
        raise BadRequest("timeout is 0; it must be positive.", field="timeout")
    return value


Length = Annotated[str | float, AfterValidator(_checked)]
