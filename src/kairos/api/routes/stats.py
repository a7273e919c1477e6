"""What happened lately, and how things stand."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kairos import stats_documents as documents
from kairos import verbs
from kairos.api import schemas_stats as schemas
from kairos.api.answer import answer, kairos_of
from kairos.api.schemas import Instant
from kairos.api.snapshots import Snapshots

router = APIRouter(tags=["watching"])


@router.get("/api/stats", response_model=schemas.StatsAnswer)
async def read_stats(request: Request, window: Annotated[int, Query(ge=60, le=86400)] = 3600) -> Response:
    """How many jobs are in each state, and what happened in the last `window` seconds; a second old at most."""
    snapshots = await request.app.part(Snapshots)
    return answer(request, {"stats": documents.stats(await snapshots.look(window))})


@router.get("/api/stats/series", response_model=schemas.SeriesAnswer)
async def read_series(
    request: Request,
    start: Annotated[Instant | None, Query(alias="from")] = None,
    end: Annotated[Instant | None, Query(alias="to")] = None,
    step: Annotated[int, Query(ge=60, le=86400)] = 60,
    action: str | None = None,
    queue: str | None = None,
) -> Response:
    """What happened from `from` until before `to`, in slots of `step` seconds, those with nothing too."""
    await (await request.app.part(Snapshots)).count()
    found = await kairos_of(request).run(
        verbs.series(start=start, end=end, step=step, action=action, queue=queue)
    )
    return answer(request, {"series": [documents.slot(slot) for slot in found]})
