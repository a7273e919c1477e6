"""Idempotency keys: the same request gets the same answer, and is carried out once."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from kairos.errors import BadRequest, Conflict
from kairos.store.query import Query, Verb

KEPT = timedelta(hours=24)
_KEY = re.compile(r"[!-~]{1,255}")


@dataclass(frozen=True, slots=True)
class Request:
    """A request under a key of its caller; the fingerprint tells it from any other."""

    caller: str
    key: str
    fingerprint: bytes

    def __post_init__(self) -> None:
        if not _KEY.fullmatch(self.key):
            raise BadRequest(
                "Idempotency-Key must be 1 to 255 visible ASCII characters.", field="Idempotency-Key"
            )


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer: its status and its document as text, and whether it was given before."""

    status: int
    body: str
    replayed: bool = False


def once(request: Request, work: Callable[[], Verb[Kept]]) -> Verb[Kept]:
    """Carry out `work` and keep its answer, or answer what was kept; to be run in one transaction.

    The second of two at once waits for the first at its first statement. What fails is not kept, and may be
    tried again.
    """
    key = (request.caller, request.key)
    if (yield Query("claim_request", (*key, request.fingerprint, KEPT))):
        kept = yield from work()
        yield Query("save_request", (*key, kept.status, kept.body))
        return kept
    found = yield Query("read_request", key)
    if not found or bytes(found[0]["fingerprint"]) != request.fingerprint:
        raise Conflict(
            f"The Idempotency-Key {request.key!r} was used for another request; use a new key for a new one."
        )
    return Kept(found[0]["status"], found[0]["body"], replayed=True)
