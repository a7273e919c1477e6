"""A signal in a job's inbox."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from kairos.shapes.shape import Shown, shape


@shape("Signal")
@dataclass(frozen=True, slots=True)
class SignalRow:
    """One signal in a job's inbox; `consumedAt` is set by the commit of the step that took it."""

    id: int
    name: str
    payload: Any
    dedup_key: str | None
    inserted_at: Annotated[datetime, Shown("at")]
    consumed_at: datetime | None
