"""A webhook and its newest delivery."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from kairos.shapes.alarm import Kind
from kairos.shapes.shape import Hidden, Shown, shape


@shape("Delivery")
@dataclass(frozen=True, slots=True)
class Delivery:
    """The newest delivery to a webhook: a job, and its state."""

    job: int
    state: str
    at: datetime
    error: Annotated[str | None, Shown(column="last_error")]


@shape("Webhook", derived=("paused",))
@dataclass(frozen=True, slots=True)
class Webhook:
    """A URL that alarms of `kinds` are sent to; without kinds, all alarms."""

    id: int
    url: str
    kinds: Annotated[tuple[str, ...], Shown(schema=list[Kind])]
    paused_at: Annotated[datetime | None, Hidden()]
    created_at: datetime
    last_delivery: Delivery | None
    secret: Annotated[str | None, Hidden(column=None)] = None  # known only to the caller who made it

    @property
    def paused(self) -> bool:
        return self.paused_at is not None
