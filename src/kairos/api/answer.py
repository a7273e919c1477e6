"""How an answer is sent: one document, encoded once, with the request's id in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Request
from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from starlette.responses import Response

from kairos import documents
from kairos.api.caller import Caller
from kairos.app import Kairos


class Document(Response):
    """A plain document as JSON, without a second look at it: `documents` made it what it is."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return documents.encode(content).encode()


def answer(
    request: Request, document: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Document:
    """The envelope: the request's id, then `job`, or `jobs` and `nextCursor`, or whatever the noun is."""
    return Document({"requestId": request.state.request_id, **document}, status, dict(headers or {}))


def changed(body: BaseModel) -> dict[str, list[str]]:
    """What the audit log is told of a change: the names of the fields, never their values."""
    return {"changed": sorted(map(to_camel, body.model_fields_set))}


def kairos_of(request: Request) -> Kairos:
    """The app whose database is served."""
    kairos: Kairos = request.app.state.kairos
    return kairos


def caller_of(request: Request) -> Caller:
    """Who asks, as the access control found out."""
    caller: Caller = request.state.caller
    return caller
