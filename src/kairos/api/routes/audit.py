"""The route of the audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kairos.api import cursors
from kairos.api.responses import kairos_of, page_answer
from kairos.api.schemas import audit as schemas
from kairos.machine.field_checks import LARGEST_ID
from kairos.operations import audit as operations

router = APIRouter(tags=["audit"])

Name = Annotated[str | None, Query(min_length=1, max_length=255)]


@router.get("/api/audit", response_model=schemas.AuditList)
async def list_audit(
    request: Request,
    actor: Name = None,
    verb: Name = None,
    target: Name = None,
    cursor: Annotated[int | None, Query(ge=1, le=LARGEST_ID)] = None,
    limit: cursors.Limit = 50,
) -> Response:
    """List the requests for changes, newest first, refused ones too; one without a status has an unknown end."""
    found = await kairos_of(request).run(
        operations.audit(actor=actor, verb=verb, target=target, before=cursor, limit=limit)
    )
    more = str(found[-1].id) if len(found) == limit else None
    return page_answer(request, "audit", found, more)
