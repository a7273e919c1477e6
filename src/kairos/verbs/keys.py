"""Keys: made once, shown once, kept as a hash, revoked for ever."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_hex, token_urlsafe

from kairos.durations import Duration, duration
from kairos.errors import BadRequest, NotFound
from kairos.machine.names import check_instant, check_name, check_range
from kairos.store.query import Query, Verb

SCOPES = ("read", "enqueue", "operate", "admin")
_PREFIX = "kr"
_NOBODY = sha256(b"").digest()  # what a secret is compared with when there is no such key


@dataclass(frozen=True, slots=True)
class Key:
    """A key without its secret, which only its holder knows."""

    id: str
    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    created_by: str | None
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a token or a cookie stands for, and for how many seconds at most."""

    id: str
    name: str
    scopes: tuple[str, ...]
    seconds_left: float | None
    stale: bool


def add_key(
    name: str,
    scopes: Iterable[str],
    *,
    expires_at: datetime | None = None,
    expires_in: Duration | None = None,
    actor: str | None = None,
) -> Verb[tuple[Key, str]]:
    """Make a key; answers it and its token, which is never to be had again."""
    check_name(name, "name")
    wanted = _scopes(scopes)
    if expires_at is not None:
        check_instant(expires_at, "expiresAt")
    length: timedelta | None = None if expires_in is None else duration(expires_in, "expiresIn")
    token, key_id, digest = new_token(_PREFIX)
    found = yield Query("insert_key", (key_id, name, digest, wanted, actor, expires_at, length))
    return _key(found[0]), token


def keys(*, before: str | None = None, limit: int = 100) -> Verb[list[Key]]:
    """Every key there ever was, newest first."""
    check_range(limit, "limit", 1, 1000)
    found = yield Query("list_keys", (before, limit))
    return [_key(row) for row in found]


def revoke_key(key_id: str) -> Verb[Key]:
    """Make a key good no more, and end the sessions that were opened with it."""
    check_name(key_id, "id")
    found = yield Query("revoke_key", (key_id,))
    if not found:
        raise NotFound(f"There is no key {key_id}.")
    return _key(found[0])


def any_key() -> Verb[bool]:
    """Whether there ever was a key: then nobody comes in without one."""
    return bool((yield Query("any_key"))[0]["found"])


def holder(token: str) -> Verb[Holder | None]:
    """Whose token it is, if it is good; a wrong id takes as much comparing as a wrong secret."""
    key_id, secret = split(token, _PREFIX)
    found = yield Query("read_key", (key_id,))
    row = found[0] if found else None
    same = hmac.compare_digest(digest_of(secret), bytes(row["secret_hash"]) if row else _NOBODY)
    if row is None or not same or not row["good"]:
        return None
    if row["stale"]:
        yield Query("touch_key", (key_id,))
    return Holder(row["id"], row["name"], tuple(row["scopes"]), row["seconds_left"], row["stale"])


def new_token(prefix: str) -> tuple[str, str, bytes]:
    """A fresh token, its id, and the hash of its secret: 32 random bytes, so a plain hash is enough."""
    token_id, secret = token_hex(8), token_urlsafe(32)
    return f"{prefix}_{token_id}_{secret}", token_id, digest_of(secret)


def split(token: str, prefix: str) -> tuple[str, str]:
    """The id and the secret of a token; of what is none, an id that nobody has."""
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


def _key(row: object) -> Key:
    values = dict(row)  # type: ignore[call-overload]
    return Key(**{**values, "scopes": tuple(values["scopes"])})
