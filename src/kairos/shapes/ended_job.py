"""How a job ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kairos.fsm.lifecycle import JobState
from kairos.shapes.shape import shape


@shape("Outcome")
@dataclass(frozen=True, slots=True)
class EndedJob:
    """How a job ended; `runMs` and `waitMs` are sums over its runs, null where it never ran."""

    id: int
    state: JobState
    completed_at: datetime
    run_ms: float | None
    wait_ms: float | None
