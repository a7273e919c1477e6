"""Groups of failures."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kairos import operations
from kairos.api import cursors
from kairos.api.replica_reads import read_aged
from kairos.api.responses import page_answer
from kairos.api.schemas import error_groups as schemas
from kairos.api.schemas.base import Instant, Name

router = APIRouter(tags=["jobs"])


@router.get("/api/errors", response_model=schemas.ErrorGroupList)
async def list_errors(
    request: Request,
    action: Name | None = None,
    queue: Name | None = None,
    since: Annotated[Instant | None, Query(description="Only failures at this instant or later.")] = None,
    cursor: cursors.Before = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """Failed jobs in groups: by action, exception and the last frame of the user's own code; the newest job's first.

    The jobs of a group are those of `GET /api/jobs?error=<fingerprint>`.
    """
    at = cursors.read(cursor)
    groups, before = await read_aged(
        request,
        lambda: operations.error_groups(action=action, queue=queue, since=since, before=at, limit=limit),
    )
    return page_answer(request, "errors", groups, cursors.write(before))
