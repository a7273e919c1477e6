"""An alarm."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from kairos.alarms.kinds import KINDS
from kairos.shapes.shape import Shown, shape

Kind: Any = Literal[tuple(KINDS)]


@shape("Alarm")
@dataclass(frozen=True, slots=True)
class Alarm:
    """A problem that lasts, or an event that someone should see, with its cause and remedy."""

    id: int
    kind: Annotated[str, Shown(schema=Kind)]
    subject: str
    severity: Annotated[str, Shown(schema=Literal["error", "warning"])]
    cause: str
    remedy: str
    count: int
    first_at: datetime
    last_at: datetime
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    cleared_at: datetime | None
