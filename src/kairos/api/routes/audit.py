"""The audit log: who asked for what, and how it ended."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kairos import documents
from kairos.api import schemas_access as schemas
from kairos.api.answer import answer, kairos_of
from kairos.machine.names import LARGEST_ID
from kairos.verbs import audit as verbs

router = APIRouter(tags=["audit"])

Name = Annotated[str | None, Query(min_length=1, max_length=255)]


@router.get("/api/audit", response_model=schemas.AuditList)
async def list_audit(
    request: Request,
    actor: Name = None,
    verb: Name = None,
    target: Name = None,
    cursor: Annotated[int | None, Query(ge=1, le=LARGEST_ID)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> Response:
    """Every request for a change, newest first, refused ones too; no status means that nobody knows how it ended."""
    found = await kairos_of(request).run(
        verbs.audit(actor=actor, verb=verb, target=target, before=cursor, limit=limit)
    )
    more = str(found[-1].id) if len(found) == limit else None
    return answer(request, {"audit": [documents.audit(row) for row in found], "nextCursor": more})
