"""Signing in and out of the dashboard."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kairos.api.authentication import COOKIE, session_cookie
from kairos.api.caller import Caller, in_order
from kairos.api.request_limits import LimitedBody, declared_length
from kairos.api.responses import answer, caller_of, kairos_of
from kairos.api.schemas import sessions as schemas
from kairos.api.schemas.base import Answer
from kairos.operations.sessions import close_session, csrf_token, open_session

# Bytes. Callers without a key send these bodies, and may leave them unfinished: each takes little memory.
BODY_LIMIT = 4096


class SmallBodyRoute(APIRoute):
    """A route with a lower body limit: reading more raises an error, in `Authorization`, which reads the body."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        small = LimitedBody(receive, BODY_LIMIT, declared_length(Headers(scope=scope)))
        await super().handle(scope, small, send)


router = APIRouter(tags=["session"], route_class=SmallBodyRoute)


@router.post("/api/session", response_model=schemas.SessionAnswer, status_code=201)
async def sign_in(request: Request, body: schemas.SignIn) -> Response:
    """Sign in with a key; the answer sets a cookie and contains the CSRF token that changes need."""
    caller = await request.app.access.by_token(body.key.get_secret_value())
    await request.state.write_audit_row()  # of this caller, who is known now
    request.state.audit = {"key": caller.id}
    settings = request.app.state.settings
    opening = open_session(caller.id, settings.session_idle, settings.session_age)
    token = await kairos_of(request).run(opening)
    response = answer(request, _session(caller, csrf_token(token)), 201)
    response.set_cookie(
        COOKIE,
        token,
        max_age=int(settings.session_age.total_seconds()),
        path=request.scope.get("root_path") or "/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


@router.get("/api/session", response_model=schemas.SessionAnswer)
async def read_session(request: Request) -> Response:
    """Return who is signed in, their scopes, and the CSRF token that changes need."""
    return answer(request, _session(caller_of(request), request.app.access.csrf(request.headers)))


@router.delete("/api/session", response_model=Answer)
async def sign_out(request: Request) -> Response:
    """End the session of the cookie; a key is not affected."""
    if (session := caller_of(request).session) is not None:
        await kairos_of(request).run(close_session(session))
        request.app.access.clear_cache()
    response = answer(request, {})
    if session_cookie(request.headers) is not None:
        response.delete_cookie(
            COOKIE, path=request.scope.get("root_path") or "/", httponly=True, samesite="strict"
        )
    return response


def _session(caller: Caller, csrf: str) -> dict[str, Any]:
    about: dict[str, Any] = {"name": caller.name, "scopes": in_order(caller.scopes), "csrf": csrf}
    return {"session": {**about, "open": True} if caller.is_local else about}
