"""Idempotency keys: run a request once, and return the stored response when it is repeated."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from kairos.errors import BadRequest, Conflict
from kairos.store.query import Operation, Query

KEPT_FOR = timedelta(hours=24)
_KEY = re.compile(r"[!-~]{1,255}")


@dataclass(frozen=True, slots=True)
class Request:
    """A request with its caller's idempotency key; the fingerprint is a hash of its content."""

    caller: str
    key: str
    fingerprint: bytes

    def __post_init__(self) -> None:
        if not _KEY.fullmatch(self.key):
            raise BadRequest(
                "Idempotency-Key must be 1 to 255 visible ASCII characters.", field="Idempotency-Key"
            )


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A response: its status, its document as text, and whether it is a replay."""

    status: int
    body: str
    replayed: bool = False


def once(request: Request, work: Callable[[], Operation[StoredResponse]]) -> Operation[StoredResponse]:
    """Run `work` and store its response, or return the response stored before; the caller runs this in one transaction.

    If two requests with a key arrive at once, the second waits for the first. A failure is not stored, so the request
    may be sent again.
    """
    key = (request.caller, request.key)
    if (yield Query("claim_idempotency_key", (*key, request.fingerprint, KEPT_FOR))):
        response = yield from work()
        yield Query("save_idempotent_response", (*key, response.status, response.body))
        return response
    found = yield Query("read_idempotent_response", key)
    if not found or bytes(found[0]["fingerprint"]) != request.fingerprint:
        raise Conflict(
            f"The Idempotency-Key {request.key!r} was used for another request; use a new key for a new one."
        )
    return StoredResponse(found[0]["status"], found[0]["body"], replayed=True)
