"""The schemas of keys."""

from __future__ import annotations

from pydantic import Field

from kairos.api.schemas.base import Input, Instant, examples, extended, one, page
from kairos.shapes.key import Key, Scope


class KeyWanted(Input):
    """A key to be made; without `expiresAt` it is valid until it is revoked."""

    model_config = examples({"name": "billing service", "scopes": ["enqueue"]})

    name: str = Field(min_length=1, max_length=255)
    scopes: list[Scope] = Field(min_length=1, max_length=4)
    expires_at: Instant | None = None


NewKey = extended("NewKey", Key, "`secret` is the whole key, `kr_…`, shown this once.", secret=str)
KeyAnswer = one("KeyAnswer", key=Key)
KeyMade = one("KeyMade", key=NewKey)
KeyList = page("KeyList", keys=Key)
