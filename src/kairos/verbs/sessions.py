"""Sessions: a browser that signed in with a key, and is told apart by a cookie."""

from __future__ import annotations

import hmac
from datetime import timedelta
from hashlib import sha256

from kairos.store.query import Query, Verb
from kairos.verbs.keys import Holder, digest_of, new_token, split

_PREFIX = "ks"
_NOBODY = sha256(b"").digest()


def open_session(key_id: str, idle: timedelta, age: timedelta) -> Verb[str]:
    """Sign in with a key; answers the token of the session, for its cookie."""
    token, session_id, digest = new_token(_PREFIX)
    yield Query("insert_session", (session_id, key_id, digest, idle, age))
    return token


def session_holder(token: str) -> Verb[tuple[str, Holder] | None]:
    """The id of the session and the key it stands for, if both are good."""
    session_id, secret = split(token, _PREFIX)
    found = yield Query("read_session", (session_id,))
    row = found[0] if found else None
    same = hmac.compare_digest(digest_of(secret), bytes(row["secret_hash"]) if row else _NOBODY)
    if row is None or not same or not row["good"]:
        return None
    if row["stale"]:
        yield Query("touch_session", (session_id,))
    return row["id"], Holder(
        row["key_id"], row["name"], tuple(row["scopes"]), row["seconds_left"], row["stale"]
    )


def close_session(session_id: str) -> Verb[None]:
    """Sign out; a session that is over already is over."""
    yield Query("delete_session", (session_id,))


def csrf_token(token: str) -> str:
    """What the pages of a session send along with a change: known to them, and to no other site."""
    return hmac.new(token.encode(), b"kairos csrf", sha256).hexdigest()
