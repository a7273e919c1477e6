"""Signing in and out of the dashboard."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from kairos.api import schemas, schemas_access
from kairos.api.access import COOKIE, session_cookie
from kairos.api.answer import answer, caller_of, kairos_of
from kairos.api.caller import Caller, in_order
from kairos.verbs.sessions import close_session, csrf_token, open_session

router = APIRouter(tags=["session"])


@router.post("/api/session", response_model=schemas_access.SessionAnswer, status_code=201)
async def sign_in(request: Request, body: schemas_access.SignIn) -> Response:
    """Sign in with a key; the answer sets a cookie, and tells the token that changes need."""
    caller = await request.app.access.by_token(body.key.get_secret_value())
    await request.state.known()
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


@router.get("/api/session", response_model=schemas_access.SessionAnswer)
async def read_session(request: Request) -> Response:
    """Who is signed in, what they may do, and the token that changes need."""
    return answer(request, _session(caller_of(request), request.app.access.csrf(request.headers)))


@router.delete("/api/session", response_model=schemas.Answer)
async def sign_out(request: Request) -> Response:
    """End the session, here and in the database; a key that was sent along stays as it is."""
    if (session := caller_of(request).session) is not None:
        await kairos_of(request).run(close_session(session))
        request.app.access.forget()
    response = answer(request, {})
    if session_cookie(request.headers) is not None:
        response.delete_cookie(
            COOKIE, path=request.scope.get("root_path") or "/", httponly=True, samesite="strict"
        )
    return response


def _session(caller: Caller, csrf: str) -> dict[str, Any]:
    about: dict[str, Any] = {"name": caller.name, "scopes": in_order(caller.scopes), "csrf": csrf}
    return {"session": {**about, "open": True} if caller.is_local else about}
