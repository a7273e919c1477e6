"""A row of the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kairos.shapes.shape import shape


@shape("AuditEntry")
@dataclass(frozen=True, slots=True)
class AuditRow:
    """One request for a change; `status` is null if the service died before it was answered."""

    id: int
    at: datetime
    actor: str
    verb: str
    target: str | None
    request_id: str
    status: int | None
    details: dict[str, Any] | None
