"""The schema of the lifecycle."""

from __future__ import annotations

from typing import Any

from kairos.api.schemas.base import Answer


class LifecycleAnswer(Answer):
    lifecycle: dict[str, Any]
    mermaid: str
