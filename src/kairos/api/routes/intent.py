"""The route that parses an intent without storing it."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from kairos.api.responses import answer, kairos_of
from kairos.api.schemas import schedules as schemas
from kairos.operations import schedules as operations

router = APIRouter(tags=["schedules"])


@router.post("/api/intent", response_model=schemas.IntentAnswer)
async def read_intent(request: Request, body: schemas.IntentWanted) -> Response:
    """Parse an intent and return its sentence and next instants; an error names the position and suggestions."""
    kairos = kairos_of(request)
    plan, ticks = await kairos.run(
        operations.intent(body.when, body.tz, body.now, calendars=kairos.calendars)
    )
    document = {"sentence": plan.sentence, "tz": plan.zone, "recurring": len(ticks) > 1, "ticks": ticks}
    return answer(request, {"intent": document})
