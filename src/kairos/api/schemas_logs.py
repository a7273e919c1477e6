"""The shapes of what a job's steps said."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from kairos.api.schemas import Answer, Output


class LogLine(Output):
    cursor: int
    at: datetime
    level: Literal["debug", "info", "warning", "error", "critical"]
    line: str
    fields: dict[str, Any] | None
    step: str
    attempt: int
    stream: Literal["stdout", "stderr"] | None


class LogsAnswer(Answer):
    logs: list[LogLine]
    next_cursor: int | None
