"""Alarms: what is wrong, and that somebody has seen it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kairos import documents, verbs
from kairos.alarms.thresholds import Thresholds
from kairos.api import cursors
from kairos.api import schemas_alarms as schemas
from kairos.api.answer import answer, caller_of, kairos_of
from kairos.worker.watchman import look_if_due

router = APIRouter(tags=["alarms"])


@router.get("/api/alarms", response_model=schemas.AlarmList)
async def list_alarms(
    request: Request,
    all: bool = False,  # noqa: A002 (its name in the URL)
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """The alarms that are open, newest first; with `all=true` also those that were cleared in the last 30 days.

    Looks first, if nobody did within 5 seconds: it need not wait for a worker, and none need be there.
    """
    kairos = kairos_of(request)
    await kairos.open()
    await look_if_due(kairos.store, Thresholds.of(kairos.settings.alarm_after))
    found = await kairos.run(verbs.alarms(all=all, before=cursors.read(cursor), limit=limit))
    more = cursors.write(found[-1].id) if len(found) == limit else None
    return answer(request, {"alarms": [documents.alarm(each) for each in found], "nextCursor": more})


@router.post("/api/alarms/{id}/acknowledge", response_model=schemas.AlarmAnswer)
async def acknowledge_alarm(request: Request, id: int) -> Response:  # noqa: A002 (its name in the path)
    """Say that you have seen it. What happened is cleared by that; what lasts is, once its cause is gone."""
    alarm = await kairos_of(request).run(verbs.acknowledge(id, actor=caller_of(request).actor))
    return answer(request, {"alarm": documents.alarm(alarm)})
