"""Sessions: a browser signs in with a key and gets a cookie."""

from __future__ import annotations

import hmac
from datetime import timedelta
from hashlib import sha256

from kairos.operations.keys import Holder, digest_of, new_token, split
from kairos.store.query import Operation, Query

_PREFIX = "ks"
_NO_SECRET = sha256(b"").digest()


def open_session(key_id: str, idle: timedelta, age: timedelta) -> Operation[str]:
    """Sign in with a key; return the token of the session, for its cookie."""
    token, session_id, digest = new_token(_PREFIX)
    yield Query("insert_session", (session_id, key_id, digest, idle, age))
    return token


def session_holder(token: str) -> Operation[tuple[str, Holder] | None]:
    """Return the id of the session and its key if both are valid, else None."""
    session_id, secret = split(token, _PREFIX)
    found = yield Query("read_session", (session_id,))
    row = found[0] if found else None
    same = hmac.compare_digest(digest_of(secret), bytes(row["secret_hash"]) if row else _NO_SECRET)
    if row is None or not same or not row["good"]:
        return None
    if row["stale"]:
        yield Query("touch_session", (session_id,))
    return row["id"], Holder(
        row["key_id"], row["name"], tuple(row["scopes"]), row["seconds_left"], row["stale"]
    )


def close_session(session_id: str) -> Operation[None]:
    """Sign out; a session that has already ended is no error."""
    yield Query("delete_session", (session_id,))


def csrf_token(token: str) -> str:
    """Return the CSRF token of a session, which only its own pages know."""
    return hmac.new(token.encode(), b"kairos csrf", sha256).hexdigest()
