"""The routes of API keys: list, add and revoke."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kairos import shapes
from kairos.api import cursors
from kairos.api.responses import answer, caller_of, kairos_of, page_answer
from kairos.api.schemas import keys as schemas
from kairos.operations import keys as operations

router = APIRouter(tags=["keys"])


@router.get("/api/keys", response_model=schemas.KeyList)
async def list_keys(
    request: Request,
    cursor: Annotated[str | None, Query(pattern="^[0-9a-f]{1,64}$")] = None,
    limit: cursors.Limit = 100,
) -> Response:
    """List all keys, newest first; revoked ones stay in the list."""
    found = await kairos_of(request).run(operations.keys(before=cursor, limit=limit))
    more = found[-1].id if len(found) == limit else None
    return page_answer(request, "keys", found, more)


@router.post("/api/keys", response_model=schemas.KeyMade, status_code=201)
async def add_key(request: Request, body: schemas.KeyWanted) -> Response:
    """Create a key. Only this answer contains its secret, of which a hash is stored."""
    caller = caller_of(request)
    key, token = await kairos_of(request).run(
        operations.add_key(
            body.name,
            [str(scope) for scope in body.scopes],
            expires_at=body.expires_at,
            actor=caller.actor,
        )
    )
    request.state.audit = {"key": key.id, "name": key.name, "scopes": list(key.scopes)}
    request.app.access.clear_cache()
    return answer(request, {"key": {**shapes.document(key), "secret": token}}, 201)


@router.delete("/api/keys/{id}", response_model=schemas.KeyAnswer)
async def revoke_key(request: Request, id: str) -> Response:  # noqa: A002 (its name in the path)
    """Revoke a key permanently, and end its sessions; other processes refuse it within seconds."""
    key = await kairos_of(request).run(operations.revoke_key(id))
    request.app.access.clear_cache()
    return answer(request, {"key": shapes.document(key)})
