"""One envelope for every error, whoever raised it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from kairos.api.answer import Document
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
from kairos.schedule import IntentError

log = structlog.get_logger("kairos.api")

# A database that is away is mostly back within seconds.
_RETRY_AFTER = "2"
_AWAY = "The database cannot be reached or written to just now: try again in a moment."
_CODES = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}


def install(app: FastAPI) -> None:
    app.add_exception_handler(KairosError, _on_kairos_error)
    app.add_exception_handler(RequestValidationError, _on_bad_request)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(Exception, _on_surprise)


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
    """The answer to an error that Kairos raised on purpose; what the database or the machine said stays here."""
    if isinstance(error, DatabaseUnavailable):
        log.error("the database is away", error=error.message, request_id=request_id)
        return envelope(request_id, error.http_status, error.code, _AWAY, None, _headers(error))
    return envelope(
        request_id, error.http_status, error.code, error.message, _details(error), _headers(error)
    )


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
        return {"Connection": "close"}  # whatever else is on its way is not waited for
    if error.http_status == 503:
        return {"Retry-After": _RETRY_AFTER}
    if error.http_status == 401:
        return {"WWW-Authenticate": 'Bearer realm="kairos"'}
    return None


async def _on_kairos_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, KairosError)
    return refusal(request.state.request_id, error)


async def _on_bad_request(request: Request, error: Exception) -> Response:
    """What does not fit the model; never with the value, which may be a secret."""
    assert isinstance(error, RequestValidationError)
    faults = [{"field": _field(each["loc"]), "message": each["msg"]} for each in error.errors()]
    first = faults[0]
    message = f"{first['field']}: {first['message']}."
    return envelope(
        request.state.request_id, 422, "INVALID", message, {"field": first["field"], "errors": faults}
    )


def _field(where: Sequence[str | int]) -> str:
    """`input.to[0]`: the place without the word for the part of the request it is in."""
    name = ""
    for part in where[1:] if len(where) > 1 else where:
        name += f"[{part}]" if isinstance(part, int) else f".{part}"
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


async def _on_surprise(request: Request, error: Exception) -> Response:
    """An error nobody expected: the log gets its stack, the caller only the id to ask about."""
    log.error(
        "a request failed for a reason nobody expected",
        method=request.method,
        path=request.url.path,
        exc_info=error,
    )
    request.state.is_told = True
    message = f"Something went wrong here; the log has it under request {request.state.request_id}."
    return envelope(request.state.request_id, 500, "INTERNAL", message)
