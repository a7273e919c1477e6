"""The shapes of keys, sessions and the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field, SecretStr

from kairos.api.caller import Scope
from kairos.api.schemas import Answer, Input, Instant, Output


class KeyWanted(Input):
    """A key to be made; without `expiresAt` it is good until it is revoked."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "billing service", "scopes": ["enqueue"]}]}
    )

    name: str = Field(min_length=1, max_length=255)
    scopes: list[Scope] = Field(min_length=1, max_length=4)
    expires_at: Instant | None = None


class Key(Output):
    id: str
    name: str
    scopes: list[Scope]
    created_at: datetime
    created_by: str | None
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


class NewKey(Key):
    """`secret` is the whole key, `kr_…`, shown this once."""

    secret: str


class KeyAnswer(Answer):
    key: Key


class KeyMade(Answer):
    key: NewKey


class KeyList(Answer):
    keys: list[Key]
    next_cursor: str | None


class SignIn(Input):
    """The key to sign in with."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"key": "kr_0123456789abcdef_…"}]})

    key: SecretStr = Field(min_length=1, max_length=200)


class Session(Output):
    """`csrf` goes into the header `X-CSRF-Token` of every change; `open` is there where nobody needs a key."""

    name: str
    scopes: list[Scope]
    csrf: str
    open: bool = False


class SessionAnswer(Answer):
    session: Session


class AuditEntry(Output):
    """`status` is null if nobody knows how the request ended: the service died on the way."""

    id: int
    at: datetime
    actor: str
    verb: str
    target: str | None
    request_id: str
    status: int | None
    details: dict[str, Any] | None


class AuditList(Answer):
    audit: list[AuditEntry]
    next_cursor: str | None
