"""Turn error responses into the exception classes of Kairos, by their `code`."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from kairos.errors import BadRequest, Duplicate, InvalidTransition, KairosError, TooManyRequests
from kairos.schedule import IntentError
from kairos.shapes import parse
from kairos.shapes.job import Job


def failure(
    status: int, headers: Mapping[str, str], document: Any, body: Mapping[str, Any] | None
) -> Generator[Any, Any, KairosError]:
    """Return the exception for an error response; `Duplicate` carries the job that holds the unique key."""
    error = document.get("error") if isinstance(document, dict) else None
    if not isinstance(error, dict):
        return KairosError(
            f"The service answered with status {status}, but not with an error document of Kairos."
        )
    code, message = str(error.get("code")), str(error.get("message"))
    details: dict[str, Any] = error.get("details") or {}
    cls = _classes().get(code, KairosError)
    if cls is Duplicate and "job" in details:
        return Duplicate(message, job=(yield from _holder(details["job"])))
    if cls is InvalidTransition:
        return InvalidTransition(
            message,
            current=str(details.get("state")),
            target=str(details.get("target")),
            allowed=details.get("allowed", ()),
        )
    if cls is IntentError:
        return _intent(message, details, str((body or {}).get("when", "")))
    if cls is TooManyRequests:
        return TooManyRequests(message, retry_after=int(headers.get("retry-after", "1")))
    if issubclass(cls, BadRequest):
        return cls(message, field=details.get("field"))
    return KairosError(message) if cls is Duplicate else cls(message)


def _intent(message: str, details: Mapping[str, Any], text: str) -> IntentError:
    """Return an `IntentError` with its position in the text that was sent."""
    position, length = details.get("position", 0), details.get("length", 0)
    error = IntentError(
        message,
        text=text or " " * (position + length),  # of a batch, only the position is known
        position=position,
        length=length,
        suggestions=details.get("suggestions", ()),
    )
    error.field = details.get("field", error.field)
    return error


def _holder(job_id: int) -> Generator[Any, Any, Any]:
    from kairos.remote import exchange

    request = exchange.HttpRequest("GET", f"/api/jobs/{job_id}", repeatable=True)
    return parse(Job, (yield from exchange.send(request, 3))["job"])


def _classes() -> dict[str, type[KairosError]]:
    """Return the exception classes by code; a base class wins over its subclasses with the same code."""
    found: dict[str, type[KairosError]] = {}
    level: list[type[KairosError]] = [KairosError]
    while level:
        for cls in level:
            found.setdefault(cls.code, cls)
        level = [below for cls in level for below in cls.__subclasses__()]
    return found
