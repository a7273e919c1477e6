"""Sessions: a browser signs in with a key and gets a cookie."""

from __future__ import annotations

import hmac
from datetime import timedelta
from hashlib import sha256

from kairos.operations.keys import KeyInUse, key_in, new_token, valid_row
from kairos.store.query import Operation, Query

_PREFIX = "ks"
# How many sessions a key may have: each sign-in reads all of them, and a key may sign in any number of times.
MOST_OF_ONE_KEY = 200


def open_session(key_id: str, idle: timedelta, age: timedelta) -> Operation[str]:
    """Sign in with a key; return the token of the session, for its cookie.

    A key with too many sessions loses the one that was not used for longest.
    """
    token, session_id, digest = new_token(_PREFIX)
    yield Query("insert_session", (session_id, key_id, digest, idle, age, MOST_OF_ONE_KEY))
    return token


def key_of_session(token: str) -> Operation[tuple[str, KeyInUse] | None]:
    """Return the id of the session and its key if both are valid, else None."""
    row = yield from valid_row(token, _PREFIX, "read_session", "touch_session")
    return None if row is None else (row["id"], key_in(row, row["key_id"]))


def close_session(session_id: str) -> Operation[None]:
    """Sign out; a session that has already ended is no error."""
    yield Query("delete_session", (session_id,))


def csrf_token(token: str) -> str:
    """Return the CSRF token of a session, which only its own pages know."""
    return hmac.new(token.encode(), b"kairos csrf", sha256).hexdigest()
