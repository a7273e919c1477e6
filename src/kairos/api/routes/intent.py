"""Intents: what a text means, while it is being typed."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from kairos.api import schemas_schedules as schemas
from kairos.api.answer import answer, kairos_of
from kairos.verbs import schedules as verbs

router = APIRouter(tags=["schedules"])


@router.post("/api/intent", response_model=schemas.IntentAnswer)
async def read_intent(request: Request, body: schemas.IntentWanted) -> Response:
    """Say what an intent means and when it fires, storing nothing; a refusal tells where, and what would do."""
    kairos = kairos_of(request)
    plan, ticks = await kairos.run(verbs.intent(body.when, body.tz, body.now, calendars=kairos.calendars))
    document = {"sentence": plan.sentence, "tz": plan.zone, "recurring": len(ticks) > 1, "ticks": ticks}
    return answer(request, {"intent": document})
