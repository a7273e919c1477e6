"""An access key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from kairos.shapes.shape import Shown, shape


class Scope(StrEnum):
    """The rights of a key; a wider scope contains the narrower ones."""

    READ = "read"
    ENQUEUE = "enqueue"
    OPERATE = "operate"
    ADMIN = "admin"


@shape("Key")
@dataclass(frozen=True, slots=True)
class Key:
    """A key without its secret, of which only a hash is stored."""

    id: str
    name: str
    scopes: Annotated[tuple[str, ...], Shown(schema=list[Scope])]
    created_at: datetime
    created_by: str | None
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
