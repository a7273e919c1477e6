"""The routes of alarms: list and acknowledge."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from kairos import operations, shapes
from kairos.api import cursors
from kairos.api.alarm_refresh import AlarmRefresher
from kairos.api.responses import answer, caller_of, kairos_of, page_answer
from kairos.api.schemas import alarms as schemas

router = APIRouter(tags=["alarms"])


@router.get("/api/alarms", response_model=schemas.AlarmList)
async def list_alarms(
    request: Request,
    all: bool = False,  # noqa: A002 (its name in the URL)
    cursor: str | None = None,
    limit: cursors.Limit = 100,
) -> Response:
    """List the open alarms, newest first; with `all=true` also those that were cleared in the last 30 days.

    The checks run first, unless they ran within the last 5 seconds, so that no worker is needed. If they take longer
    than 5 seconds, they continue in the background, and the answer has the alarms that are known.
    """
    await (await request.app.component(AlarmRefresher)).refresh()
    found = await kairos_of(request).run(operations.alarms(all=all, before=cursors.read(cursor), limit=limit))
    more = cursors.write(found[-1].id) if len(found) == limit else None
    return page_answer(request, "alarms", found, more)


@router.post("/api/alarms/{id}/acknowledge", response_model=schemas.AlarmAnswer)
async def acknowledge_alarm(request: Request, id: int) -> Response:  # noqa: A002 (its name in the path)
    """Acknowledge an alarm. One about an event is cleared by that; one about a state once its cause is gone."""
    alarm = await kairos_of(request).run(operations.acknowledge(id, actor=caller_of(request).actor))
    return answer(request, {"alarm": shapes.document(alarm)})
