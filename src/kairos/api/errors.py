"""Turn every exception into the same error envelope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from kairos.api.body_faults import MORE_FAULTS, MOST_FAULTS
from kairos.api.responses import Document
from kairos.errors import (
    BadRequest,
    DatabaseUnavailable,
    Duplicate,
    InvalidTransition,
    KairosError,
    TooLarge,
    TooManyRequests,
    TooSlow,
)
from kairos.json_codec import shortened
from kairos.logger import Logger
from kairos.schedule import IntentError

log = Logger("kairos.api")

# Seconds; most outages of the database are over by then.
_RETRY_AFTER = "2"
_UNAVAILABLE_MESSAGE = "The database cannot be reached or written to just now: try again in a moment."
# No standard status means that the client disconnected; this is the one that nginx logs.
HANG_UP = 499
_CODES = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}


def install(app: FastAPI) -> None:
    app.add_exception_handler(KairosError, _on_kairos_error)
    app.add_exception_handler(RequestValidationError, _on_bad_request)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(ClientDisconnect, _on_disconnect)
    app.add_exception_handler(Exception, _on_unexpected_error)


def envelope(
    request_id: str,
    status: int,
    code: str,
    message: str,
    details: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Document:
    error = {"code": code, "message": message, **({"details": details} if details else {})}
    return Document({"requestId": request_id, "error": error}, status, dict(headers or {}))


def refusal(request_id: str, error: KairosError) -> Document:
    """Return the response to one of Kairos's own errors; the text of a database error is logged, not sent."""
    message = error.message
    if isinstance(error, DatabaseUnavailable):
        log.error("the database is unavailable", error=message, request_id=request_id)
        message = _UNAVAILABLE_MESSAGE
    return envelope(request_id, error.http_status, error.code, message, _details(error), _headers(error))


def _details(error: KairosError) -> Mapping[str, Any] | None:
    match error:
        case IntentError():
            return {
                "position": error.position,
                "length": error.length,
                "suggestions": list(error.suggestions),
                **({"field": error.field} if error.field else {}),
            }
        case InvalidTransition():
            return {"state": error.current, "target": error.target, "allowed": list(error.allowed)}
        case Duplicate():
            return {"job": error.job.id, "state": error.job.state}
        case BadRequest(field=str() as field):
            return {"field": field}
    return None


def _headers(error: KairosError) -> Mapping[str, str] | None:
    if isinstance(error, TooManyRequests):
        return {"Retry-After": str(error.retry_after)}
    if isinstance(error, TooLarge | TooSlow):
        return {"Connection": "close"}  # the rest of the request is not read
    if error.http_status == 503:
        return {"Retry-After": _RETRY_AFTER}
    if error.http_status == 401:
        return {"WWW-Authenticate": 'Bearer realm="kairos"'}
    return None


async def _on_kairos_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, KairosError)
    return refusal(request.state.request_id, error)


async def _on_bad_request(request: Request, error: Exception) -> Response:
    """Answer a request that does not fit its model; the value is left out, because it may be a secret."""
    assert isinstance(error, RequestValidationError)
    found = [each for each in error.errors() if each["type"] != MORE_FAULTS]
    # An unknown name comes first: it explains why another one is missing.
    found.sort(key=lambda each: each["type"] != "extra_forbidden")
    more = sum(each["ctx"]["more"] for each in error.errors() if each["type"] == MORE_FAULTS)
    more += len(found[MOST_FAULTS:])
    faults = [{"field": _field(each["loc"]), "message": each["msg"]} for each in found[:MOST_FAULTS]]
    first = faults[0]
    message = f"{first['field']}: {first['message']}".removesuffix(".")
    message += "" if message.endswith("?") else "."
    details: dict[str, Any] = {"field": first["field"], "errors": faults}
    if more:
        message += f" There are {len(faults)} faults in the details, and {more:,} more."
        details["more"] = more
    return envelope(request.state.request_id, 422, "INVALID", message, details)


def _field(where: Sequence[str | int]) -> str:
    """Return the path of a field, such as `input.to[0]`, without the leading `body` or `query`."""
    name = ""
    for part in where[1:] if len(where) > 1 else where:
        name += f"[{part}]" if isinstance(part, int) else f".{shortened(part)}"
    return name.removeprefix(".")


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _CODES.get(error.status_code, "ERROR")
    path, headers = request.url.path[:200], dict(error.headers or {})
    match error.status_code:
        case 404:
            message = f"There is nothing at {path}."
        case 405:
            headers["Allow"] = ", ".join(request.app.methods(request.scope)) or headers.get("Allow", "")
            message = f"{path} does not take {request.method}; it takes {headers['Allow']}."
        case _:
            message = str(error.detail)
    return envelope(request.state.request_id, error.status_code, code, message, None, headers)


async def _on_disconnect(request: Request, error: Exception) -> Response:
    """Answer a client that disconnected: only the log and the metrics see the status."""
    return envelope(request.state.request_id, HANG_UP, "HANG_UP", "The client left before it was answered.")


async def _on_unexpected_error(request: Request, error: Exception) -> Response:
    """Answer an unexpected error: the log gets the traceback, the client only the request's id."""
    log.error(
        "a request failed with an unexpected error",
        method=request.method,
        path=request.url.path,
        exc_info=error,
    )
    request.state.is_logged = True
    message = (
        f"The service failed with an unexpected error: see its log for request {request.state.request_id}."
    )
    return envelope(request.state.request_id, 500, "INTERNAL", message)
