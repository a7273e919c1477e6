"""Keys: who may use the service, and for what."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kairos import documents
from kairos.api import schemas_access as schemas
from kairos.api.answer import answer, caller_of, kairos_of
from kairos.verbs import keys as verbs

router = APIRouter(tags=["keys"])


@router.get("/api/keys", response_model=schemas.KeyList)
async def list_keys(
    request: Request,
    cursor: Annotated[str | None, Query(pattern="^[0-9a-f]{1,64}$")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Every key there ever was, newest first; revoked ones stay, as a record."""
    found = await kairos_of(request).run(verbs.keys(before=cursor, limit=limit))
    more = found[-1].id if len(found) == limit else None
    return answer(request, {"keys": [documents.key(each) for each in found], "nextCursor": more})


@router.post("/api/keys", response_model=schemas.KeyMade, status_code=201)
async def add_key(request: Request, body: schemas.KeyWanted) -> Response:
    """Make a key. Its secret is in this answer and nowhere else: only a hash of it is kept."""
    caller = caller_of(request)
    key, token = await kairos_of(request).run(
        verbs.add_key(
            body.name,
            [str(scope) for scope in body.scopes],
            expires_at=body.expires_at,
            actor=caller.actor,
        )
    )
    request.state.audit = {"key": key.id, "name": key.name, "scopes": list(key.scopes)}
    request.app.access.forget()
    return answer(request, {"key": {**documents.key(key), "secret": token}}, 201)


@router.delete("/api/keys/{id}", response_model=schemas.KeyAnswer)
async def revoke_key(request: Request, id: str) -> Response:  # noqa: A002 (its name in the path)
    """Revoke a key for good, and end its sessions; elsewhere it stops working within seconds."""
    key = await kairos_of(request).run(verbs.revoke_key(id))
    request.app.access.forget()
    return answer(request, {"key": documents.key(key)})
