"""An HTTP exchange as a generator: it yields requests, receives responses, and does no I/O itself.

Sync and async clients share it: only the runners in `kairos.remote.runners` block or await.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias, TypeVar

from kairos.errors import Unreachable
from kairos.remote.remote_errors import failure
from kairos.store.query import Pause

T = TypeVar("T")

_FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
_LONGEST_RETRY_AFTER = 60.0  # the longest Retry-After that is obeyed
_UNAVAILABLE, _BUSY = 503, 429


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request. It is `repeatable` if it changes nothing or carries an Idempotency-Key."""

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False
    wait: float = 0.0  # seconds for which the service may hold the response, as in a long poll


@dataclass(frozen=True, slots=True)
class HttpResponse:
    status: int
    headers: Mapping[str, str]
    document: Any


@dataclass(frozen=True, slots=True)
class ConnectionLost:
    """The connection failed; the service may have executed the request or not."""

    error: Exception


@dataclass(frozen=True, slots=True)
class OpenStream:
    """Open a stream of lines; only an error response has a document."""

    request: HttpRequest


@dataclass(frozen=True, slots=True)
class ReadLine:
    """Read the next line of the stream; None at its end."""


@dataclass(frozen=True, slots=True)
class Item:
    """One item that the runner passes to the caller of an iterator."""

    value: Any


Effect: TypeAlias = HttpRequest | OpenStream | ReadLine | Item | Pause
Exchange: TypeAlias = Generator[Effect, Any, T]


def send(request: HttpRequest, tries: int) -> Exchange[Any]:
    """Send a request with retries; return its document, or raise the service's error."""
    return (yield from _send(request, request, tries)).document


def open_stream(request: HttpRequest, tries: int) -> Exchange[None]:
    """Open a stream with retries; raise the service's error."""
    yield from _send(OpenStream(request), request, tries)


def _send(effect: HttpRequest | OpenStream, request: HttpRequest, tries: int) -> Exchange[HttpResponse]:
    for attempt in count(1):
        answer = yield effect
        if isinstance(answer, ConnectionLost):
            if not request.repeatable or attempt >= tries:
                raise Unreachable(_lost(request, answer)) from answer.error
            yield Pause(backoff(attempt))
        elif answer.status == _BUSY or (answer.status == _UNAVAILABLE and request.repeatable):
            if attempt >= tries:
                raise (yield from failure(answer.status, answer.headers, answer.document, request.body))
            yield Pause(max(_retry_after(answer.headers), backoff(attempt)))
        elif answer.status >= 400:
            raise (yield from failure(answer.status, answer.headers, answer.document, request.body))
        else:
            assert isinstance(answer, HttpResponse)
            return answer
    raise AssertionError("unreachable")


def backoff(attempt: int) -> float:
    """Return a delay with full jitter, so that clients do not return to a restarted service all at once."""
    ceiling = min(_FIRST_PAUSE * 2 ** min(attempt, 20), LONGEST_PAUSE)
    return random.uniform(_FIRST_PAUSE / 2, ceiling)  # noqa: S311 (no secret)


def _retry_after(headers: Mapping[str, str]) -> float:
    seconds = headers.get("retry-after", "")
    return min(float(seconds), _LONGEST_RETRY_AFTER) if seconds.isdigit() else 0.0


def _lost(request: HttpRequest, lost: ConnectionLost) -> str:
    what = f"{request.method} {request.path}"
    kind = type(lost.error).__name__
    if request.repeatable:
        return f"The service cannot be reached ({kind}): {what} was tried again and again."
    return f"The connection broke during {what} ({kind}): look whether it was done before you repeat it."
