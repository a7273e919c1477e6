"""The error group of a failure: its action, its exception and the place in the user's code that raised it."""

from __future__ import annotations

from hashlib import sha256

# Separates the hashed parts. `reap_jobs.sql` computes the fingerprint of a lost worker, which raises no exception.
_BETWEEN = "\x1f"


def fingerprint(action: str, exception: str, frame: str) -> str:
    """Return the fingerprint of a group: 16 hexadecimal digits."""
    return sha256(_BETWEEN.join((action, exception, frame)).encode(errors="replace")).hexdigest()[:16]
