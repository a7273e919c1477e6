"""Build JSON responses that contain the request's id."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import Request
from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from starlette.responses import Response

from kairos import serializers, shapes
from kairos.api.caller import Caller
from kairos.app import Kairos


class Document(Response):
    """A response that encodes a document as JSON without validating it: the serializers built it."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return serializers.encode(content).encode()


def answer(
    request: Request, document: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Document:
    """Return the response envelope: the request's id and the members of the document, such as `job`.

    If a replica was read for the request, the envelope and the header `Age` say how old the answer may be.
    """
    envelope: dict[str, Any] = {"requestId": request.state.request_id, **document}
    sent_headers = dict(headers or {})
    if (age := getattr(request.state, "age", None)) is not None:
        envelope["age"] = round(age, 3)
        sent_headers["Age"] = str(math.ceil(age))
    return Document(envelope, status, sent_headers)


def page_answer(request: Request, noun: str, rows: Iterable[Any], cursor: Any) -> Document:
    """Return the answer of a list: the documents of its rows under `noun`, and the cursor of the next page."""
    return answer(request, {noun: [shapes.document(row) for row in rows], "nextCursor": cursor})


def changed(body: BaseModel) -> dict[str, list[str]]:
    """Return the audit details of a change: the names of the changed fields, never their values."""
    return {"changed": sorted(map(to_camel, body.model_fields_set))}


def kairos_of(request: Request) -> Kairos:
    """Return the app whose database is served."""
    kairos: Kairos = request.app.state.kairos
    return kairos


def caller_of(request: Request) -> Caller:
    """Return the caller that `Authorization` identified."""
    caller: Caller = request.state.caller
    return caller


def origin_of(request: Request) -> dict[str, str | None]:
    """Return the origin that is stored with the jobs that a request makes: the caller and the request's id."""
    return {"actor": caller_of(request).actor, "request_id": request.state.request_id}


def page_bytes(request: Request) -> int:
    """Return the size in bytes at which a page of a list ends early."""
    most: int = request.app.state.settings.page_bytes
    return most
