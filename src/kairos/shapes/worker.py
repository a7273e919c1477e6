"""A worker."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kairos.shapes.shape import shape


@shape("Worker")
@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker process. `live`: its heartbeat is less than 30 seconds old; `drainAt`: when it was asked to leave."""

    id: str
    host: str
    pid: int
    queues: list[str]
    actions: list[str]
    concurrency: int
    started_at: datetime
    seen_at: datetime
    stopping_at: datetime | None
    drain_at: datetime | None = None
    live: bool = True
    running: int = 0
