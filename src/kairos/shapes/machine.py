"""A version of a machine that a process registered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

from kairos.shapes.shape import Hidden, Shown, shape


@shape("Machine", derived=("steps",))
@dataclass(frozen=True, slots=True)
class MachineRow:
    """A machine as registered. `input` is a JSON schema; `workers` counts the live workers that know it."""

    name: str
    version: int
    queue: str
    ttl: timedelta | None
    step: Annotated[str, Hidden()]
    input: Annotated[Any, Shown(schema=dict[str, Any])]
    diagram: Annotated[Any, Hidden()]
    redact: tuple[str, ...]
    options: Annotated[Any, Hidden()]
    seen_at: datetime
    workers: int
    search: tuple[str, ...] = ()

    @property
    def steps(self) -> tuple[str, ...]:
        names: list[str] = self.diagram["states"]
        return tuple(names)
