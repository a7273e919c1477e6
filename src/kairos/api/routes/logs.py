"""The route of a job's log lines."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kairos import operations
from kairos.api import cursors
from kairos.api.responses import kairos_of, page_answer, page_bytes
from kairos.api.schemas.logs import LogsAnswer
from kairos.machine.field_checks import LARGEST_ID

router = APIRouter(tags=["jobs"])


@router.get("/api/jobs/{id:number}/logs", response_model=LogsAnswer)
async def read_logs(
    request: Request,
    id: int,  # noqa: A002 (as the path says)
    cursor: Annotated[int, Query(ge=0, le=LARGEST_ID, description="Only lines after this one.")] = 0,
    limit: cursors.Limit = 100,
) -> Response:
    """Return the log lines of one job, in order; `nextCursor` is null on the last page."""
    asked = operations.bounded_logs(id, after=cursor, limit=limit, most=page_bytes(request))
    found = await kairos_of(request).run(asked)
    more = found.rows[-1].cursor if found.more else None
    return page_answer(request, "logs", found.rows, more)
