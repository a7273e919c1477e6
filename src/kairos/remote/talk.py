"""A conversation with the service as a generator: it yields what to send, is sent what came back, and does no I/O.

One source for both worlds: the runners of `kairos.remote.runners` are the only ones that block or await.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias, TypeVar

from kairos.errors import Unreachable
from kairos.remote.failures import failure
from kairos.store.query import Pause

T = TypeVar("T")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_LONGEST_WISH = 60.0  # of a Retry-After
_NOT_NOW, _BUSY = 503, 429


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. `again` says that it may be sent twice: it changes nothing, or carries an Idempotency-Key."""

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    again: bool = False
    wait: float = 0.0  # how long the service may take on purpose


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    document: Any


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection broke, or never was: nobody knows whether the request arrived."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Open:
    """Begin to read a stream; answered with its `Answer`, whose document is None where it streams."""

    ask: Ask


@dataclass(frozen=True, slots=True)
class ReadLine:
    """The next line of the stream; None at its end."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing of an answer that comes in many."""

    value: Any


Effect: TypeAlias = Ask | Open | ReadLine | Item | Pause
Talk: TypeAlias = Generator[Effect, Any, T]


def ask(request: Ask, tries: int) -> Talk[Any]:
    """The document that the service answers with, or the error that it names."""
    return (yield from _send(request, request, tries)).document


def open_stream(request: Ask, tries: int) -> Talk[None]:
    """Begin to read a stream."""
    yield from _send(Open(request), request, tries)


def _send(effect: Ask | Open, request: Ask, tries: int) -> Talk[Answer]:
    for attempt in count(1):
        answer = yield effect
        if isinstance(answer, Lost):
            if not request.again or attempt >= tries:
                raise Unreachable(_lost(request, answer)) from answer.error
            yield Pause(backoff(attempt))
        elif answer.status == _BUSY or (answer.status == _NOT_NOW and request.again):
            if attempt >= tries:
                raise (yield from failure(answer.status, answer.headers, answer.document, request.body))
            yield Pause(max(_wish(answer.headers), backoff(attempt)))
        elif answer.status >= 400:
            raise (yield from failure(answer.status, answer.headers, answer.document, request.body))
        else:
            assert isinstance(answer, Answer)
            return answer
    raise AssertionError("unreachable")


def backoff(attempt: int) -> float:
    """Full jitter: a service that comes back is not met by everyone at once."""
    ceiling = min(_FIRST_PAUSE * 2 ** min(attempt, 20), _LONGEST_PAUSE)
    return random.uniform(_FIRST_PAUSE / 2, ceiling)  # noqa: S311 (no secret)


def _wish(headers: Mapping[str, str]) -> float:
    wish = headers.get("retry-after", "")
    return min(float(wish), _LONGEST_WISH) if wish.isdigit() else 0.0


def _lost(request: Ask, lost: Lost) -> str:
    what = f"{request.method} {request.path}"
    kind = type(lost.error).__name__
    if request.again:
        return f"The service cannot be reached ({kind}): {what} was tried again and again."
    return f"The connection broke during {what} ({kind}): look whether it was done before you repeat it."
