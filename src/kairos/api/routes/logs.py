"""What the steps of a job said."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kairos import documents, verbs
from kairos.api import schemas_logs
from kairos.api.answer import answer, kairos_of
from kairos.machine.names import LARGEST_ID

router = APIRouter(tags=["jobs"])


@router.get("/api/jobs/{id:number}/logs", response_model=schemas_logs.LogsAnswer)
async def read_logs(
    request: Request,
    id: int,  # noqa: A002 (as the path says)
    cursor: Annotated[int, Query(ge=0, le=LARGEST_ID, description="Only lines after this one.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many at most.")] = 100,
) -> Response:
    """The lines of one job, in the order they were said; `nextCursor` is null on the last page."""
    found = await kairos_of(request).run(verbs.logs(id, after=cursor, limit=limit + 1))
    page = found[:limit]
    return answer(
        request,
        {
            "logs": [documents.log_line(row) for row in page],
            "nextCursor": page[-1].cursor if len(found) > limit else None,
        },
    )
