"""Build the OpenAPI document, with operation names that read well in a generated client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from kairos.api import route_scopes
from kairos.api.schemas.base import error_models
from kairos.shapes.key import Scope

_DESCRIPTION = "Durable jobs, state machines and schedules on Postgres. Every error has the same envelope."
_SECURITY: dict[str, Any] = {
    "key": {
        "type": "http",
        "scheme": "bearer",
        "description": "A key, as `kairos keys add` prints it: `Authorization: Bearer kr_…`.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "kairos_session",
        "description": "What the dashboard uses; unsafe methods also need `X-CSRF-Token`.",
    },
}


_TAGS = {
    "jobs": "Enqueue, list, read and change jobs.",
    "signals": "Durable messages to one job.",
    "machines": "The actions that workers know, and their diagrams.",
    "lifecycle": "The states of a job, and the transitions between them.",
    "queues": "The queues: their jobs, limits and pauses.",
    "workers": "The workers that run jobs.",
    "schedules": "Recurring jobs, and the record of their ticks.",
    "watching": "Statistics and live event streams.",
    "alarms": "Problems that need attention.",
    "webhooks": "The URLs that alarms are sent to.",
    "keys": "API keys and their scopes.",
    "audit": "The log of requested changes and their results.",
    "session": "Sign in to the dashboard and out of it.",
    "meta": "Health checks and versions.",
}


def describe(app: FastAPI, routes: Sequence[APIRoute]) -> dict[str, Any]:
    """Return the OpenAPI document; each operation lists its scope and its error responses."""
    document = get_openapi(title=app.title, version=app.version, description=_DESCRIPTION, routes=routes)
    used = {tag for route in routes if route.include_in_schema for tag in route.tags}
    document["tags"] = [{"name": tag, "description": text} for tag, text in _TAGS.items() if tag in used]
    components = document.setdefault("components", {})
    components["securitySchemes"] = _SECURITY
    models = components.setdefault("schemas", {})
    models.pop("HTTPValidationError", None)
    models.pop("ValidationError", None)
    models.update(error_models())
    for route in routes:
        if not route.include_in_schema:
            continue
        (method,) = route.methods or {"?"}
        operation = document["paths"][route.path_format][method.lower()]
        scope = route_scopes.scope_of(route)
        responses = operation["responses"]
        for status in _failures(scope, method, operation):
            responses[str(status)] = _FAILURE[status]
        responses["default"] = _FAILURE[None]
        operation["x-scope"] = scope or "public"
        operation["security"] = [{"key": []}, {"session": []}] if scope else []
    return document


def _failures(scope: Scope | None, method: str, operation: dict[str, Any]) -> list[int]:
    """Return the error statuses that an operation may have before its route runs, in a fixed order."""
    failures = [400]
    if scope is not None or method != "GET":
        failures += [401, 403]
    if "requestBody" in operation:
        failures += [413, 415]
    if "requestBody" in operation or "422" in operation["responses"]:
        failures.append(422)
    return [*failures, 429, 503]


def _failure(description: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/ErrorEnvelope"}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


_FAILURE: dict[int | None, dict[str, Any]] = {
    None: _failure("Any other failure."),
    400: _failure("The request is malformed."),
    401: _failure("No valid key or session came with the request."),
    403: _failure("The key lacks the scope, or the request came from another site."),
    413: _failure("The body is larger than the limit."),
    415: _failure("The body is not application/json."),
    422: _failure("A field is missing or wrong; details name it."),
    429: _failure("Too many requests; Retry-After says when to go on."),
    503: _failure("The database is away; Retry-After says when to try again."),
}
