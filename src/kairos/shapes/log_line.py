"""A line of a job's log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from kairos.shapes.shape import Shown, shape


@shape("LogLine")
@dataclass(frozen=True, slots=True)
class LogRow:
    """One line of a job's log; `stream` is where it was captured, null if the step logged it."""

    cursor: int
    at: datetime
    level: Annotated[str, Shown(schema=Literal["debug", "info", "warning", "error", "critical"])]
    line: str
    fields: dict[str, Any] | None
    step: str
    attempt: int
    stream: Annotated[str | None, Shown(schema=Literal["stdout", "stderr"] | None)]
