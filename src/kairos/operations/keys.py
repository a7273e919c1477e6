"""API keys: create, list, revoke and verify them. Only a hash of the secret is stored."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_hex, token_urlsafe

from kairos.durations import Duration, duration
from kairos.errors import BadRequest
from kairos.machine.field_checks import check_instant, check_name, check_range
from kairos.shapes import read
from kairos.shapes.key import Key, Scope
from kairos.store.query import Operation, Query, Row, required_row

SCOPES = tuple(map(str, Scope))
PREFIX = "kr"
_NO_SECRET = sha256(b"").digest()  # compared with the secret when there is no such key


@dataclass(frozen=True, slots=True)
class KeyInUse:
    """The key that a token or a session cookie stands for, and for how many more seconds it does."""

    id: str
    name: str
    scopes: tuple[str, ...]
    seconds_left: float | None


def add_key(
    name: str,
    scopes: Iterable[str],
    *,
    expires_at: datetime | None = None,
    expires_in: Duration | None = None,
    actor: str | None = None,
) -> Operation[tuple[Key, str]]:
    """Create a key; return it with its token, which cannot be read again."""
    check_name(name, "name")
    wanted = _scopes(scopes)
    if expires_at is not None:
        check_instant(expires_at, "expiresAt")
    length: timedelta | None = None if expires_in is None else duration(expires_in, "expiresIn")
    token, key_id, digest = new_token(PREFIX)
    found = yield Query("insert_access_key", (key_id, name, digest, wanted, actor, expires_at, length))
    return read(Key, found[0]), token


def keys(*, before: str | None = None, limit: int = 100) -> Operation[list[Key]]:
    """Return all keys, including revoked ones, newest first."""
    check_range(limit, "limit", 1, 1000)
    found = yield Query("list_access_keys", (before, limit))
    return [read(Key, row) for row in found]


def revoke_key(key_id: str) -> Operation[Key]:
    """Revoke a key, and end the sessions that were opened with it."""
    check_name(key_id, "id")
    row = yield from required_row(Query("revoke_access_key", (key_id,)), f"There is no key {key_id}.")
    return read(Key, row)


def any_key() -> Operation[bool]:
    """Whether a key was ever created: from then on the service requires one."""
    return bool((yield Query("access_key_exists"))[0]["found"])


def key_of(token: str) -> Operation[KeyInUse | None]:
    """Return the key of a valid token, or None."""
    row = yield from valid_row(token, PREFIX, "read_access_key", "touch_access_key")
    return None if row is None else key_in(row, row["id"])


def valid_row(token: str, prefix: str, read_statement: str, touch_statement: str) -> Operation[Row | None]:
    """Return the row of a valid token, or None; an unknown id takes as long to compare as a wrong secret."""
    token_id, secret = split(token, prefix)
    found = yield Query(read_statement, (token_id,))
    row = found[0] if found else None
    same = hmac.compare_digest(digest_of(secret), bytes(row["secret_hash"]) if row else _NO_SECRET)
    if row is None or not same or not row["good"]:
        return None
    if row["stale"]:
        yield Query(touch_statement, (token_id,))
    return row


def key_in(row: Row, key_id: str) -> KeyInUse:
    """Read the key from its own row or from that of a session."""
    return KeyInUse(key_id, row["name"], tuple(row["scopes"]), row["seconds_left"])


def new_token(prefix: str) -> tuple[str, str, bytes]:
    """Return a new token, its id and the hash of its secret; a plain hash is enough for 32 random bytes."""
    token_id, secret = token_hex(8), token_urlsafe(32)
    return f"{prefix}_{token_id}_{secret}", token_id, digest_of(secret)


def split(token: str, prefix: str) -> tuple[str, str]:
    """Return the id and the secret of a token; a malformed one has an empty id, which no key has."""
    parts = token.split("_", 2)
    if len(parts) != 3 or parts[0] != prefix or not parts[1].isalnum() or not token.isascii():
        return "", token
    return parts[1], parts[2]


def digest_of(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _scopes(scopes: Iterable[str]) -> list[str]:
    given = [scopes] if isinstance(scopes, str) else list(scopes)
    if not given or (unknown := [each for each in given if each not in SCOPES]):
        what = f"has {unknown[0]!r}" if given else "is empty"
        raise BadRequest(f"scopes {what}; they are some of {', '.join(SCOPES)}.", field="scopes")
    return [scope for scope in SCOPES if scope in given]
