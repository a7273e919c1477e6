"""A group of failures."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kairos.shapes.shape import shape


@shape("ErrorGroup")
@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Jobs of one action that failed with the same exception, raised at the same place of the user's own code.

    `count` goes up to 10,000. `series` counts the failures of each of the last 24 hours, the present one last.
    `message` and `frame` are those of the job that failed last.
    """

    fingerprint: str
    action: str
    exception: str
    frame: str | None
    message: str
    count: int
    series: tuple[int, ...]
    first_at: datetime
    last_at: datetime
    last_job_id: int
