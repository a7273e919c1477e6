"""The lifecycle: the table that everything else is rendered from."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from kairos.api.responses import answer
from kairos.api.schemas import lifecycle as schemas
from kairos.fsm import render
from kairos.fsm.lifecycle import SPEC

router = APIRouter(tags=["lifecycle"])


@router.get("/api/lifecycle", response_model=schemas.LifecycleAnswer)
async def read_lifecycle(request: Request) -> Response:
    """Every state a job can be in, and every change that can happen to it."""
    return answer(request, {"lifecycle": render.as_json(SPEC), "mermaid": render.mermaid(SPEC)})
