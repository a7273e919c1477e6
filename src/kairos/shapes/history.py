"""A row of a job's history."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from kairos.fsm.lifecycle import JobState
from kairos.shapes.shape import Shown, shape


@shape("Change")
@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One committed change of one job."""

    id: int
    verb: str
    from_state: Annotated[str, Shown("from", schema=JobState)]
    to_state: Annotated[str, Shown("to", schema=JobState)]
    step: str
    attempt: int
    worker: str | None
    actor: str | None
    reason: str | None
    started_at: datetime | None
    at: datetime
    due_at: datetime | None = None  # when the run that it ends was due
    state: Any = None  # after the step, where the machine keeps its states
