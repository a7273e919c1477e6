"""The routes of statistics: overview, time series and how the last jobs ended."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kairos import operations, shapes
from kairos import stats_serializers as documents
from kairos.api.replica_reads import read_aged
from kairos.api.responses import answer
from kairos.api.schemas import stats as schemas
from kairos.api.schemas.base import Instant, Name
from kairos.api.stats_cache import StatsCache, rounded

router = APIRouter(tags=["watching"])


@router.get("/api/stats", response_model=schemas.StatsAnswer)
async def read_stats(request: Request, window: Annotated[int, Query(ge=60, le=86400)] = 3600) -> Response:
    """Return the jobs by state and the counts of the last `window` seconds, at most a second old."""
    snapshots = await request.app.component(StatsCache)
    found = await read_aged(
        request, lambda: operations.stats(rounded(window)), lambda: snapshots.read(window)
    )
    return answer(request, {"stats": documents.stats(found)})


@router.get("/api/stats/series", response_model=schemas.SeriesAnswer)
async def read_series(
    request: Request,
    start: Annotated[Instant | None, Query(alias="from")] = None,
    end: Annotated[Instant | None, Query(alias="to")] = None,
    step: Annotated[int, Query(ge=60, le=86400)] = 60,
    action: str | None = None,
    queue: str | None = None,
    schedule: str | None = None,
) -> Response:
    """Return the counts from `from` until before `to` in slots of `step` seconds, including empty slots.

    The series of a schedule is counted from its newest 10,000 jobs.
    """
    await (await request.app.component(StatsCache)).count()
    found = await read_aged(
        request,
        lambda: operations.series(
            start=start, end=end, step=step, action=action, queue=queue, schedule=schedule
        ),
    )
    return answer(request, {"series": [documents.slot(slot) for slot in found]})


@router.get("/api/stats/outcomes", response_model=schemas.OutcomesAnswer)
async def read_outcomes(
    request: Request,
    action: Name | None = None,
    queue: Name | None = None,
    schedule: Name | None = None,
    limit: Annotated[int, Query(ge=1, le=operations.MOST_ENDED_JOBS)] = 20,
) -> Response:
    """List how the newest ended jobs of an action, a queue or a schedule ended, newest first."""
    found = await read_aged(
        request, lambda: operations.ended_jobs(action=action, queue=queue, schedule=schedule, limit=limit)
    )
    return answer(request, {"outcomes": [shapes.document(each) for each in found]})
