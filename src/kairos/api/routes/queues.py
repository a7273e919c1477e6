"""Queues: what they have, and what they are told to do."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from kairos import documents, verbs
from kairos.api import cursors
from kairos.api import schemas_places as schemas
from kairos.api.answer import answer, changed, kairos_of

router = APIRouter(tags=["queues"])


@router.get("/api/queues", response_model=schemas.QueueList)
async def list_queues(
    request: Request, cursor: cursors.AfterName = None, limit: cursors.Limit = 500
) -> Response:
    """Every queue that has live work or settings."""
    found = await kairos_of(request).run(verbs.queues(after=cursor, limit=limit + 1))
    queues, more = cursors.page(found, limit, lambda queue: queue.name)
    return answer(request, {"queues": [documents.queue(each) for each in queues], "nextCursor": more})


@router.get("/api/queues/{name}", response_model=schemas.QueueAnswer)
async def read_queue(request: Request, name: str) -> Response:
    """One queue, if it has live work or settings."""
    return await _queue(request, name)


@router.patch("/api/queues/{name}", response_model=schemas.QueueAnswer)
async def limit_queue(request: Request, name: str, changes: schemas.QueueChanges) -> Response:
    """Set some of a queue's limits over all workers; `null` lifts one."""
    given = {field: getattr(changes, field) for field in changes.model_fields_set}
    limits: dict[str, Any] = {
        field: (value.limit, value.seconds) if isinstance(value, schemas.RateWanted) else value
        for field, value in given.items()
    }
    request.state.audit = changed(changes)
    await kairos_of(request).run(verbs.limit(name, only=sorted(given), **limits))
    return await _queue(request, name)


@router.post("/api/queues/{name}/pause", response_model=schemas.QueueAnswer)
async def pause_queue(request: Request, name: str) -> Response:
    """Stop picking from a queue; what runs goes on."""
    await kairos_of(request).run(verbs.pause(name))
    return await _queue(request, name)


@router.post("/api/queues/{name}/resume", response_model=schemas.QueueAnswer)
async def resume_queue(request: Request, name: str) -> Response:
    """Pick from a queue again."""
    await kairos_of(request).run(verbs.resume(name))
    return await _queue(request, name)


async def _queue(request: Request, name: str) -> Response:
    queue = await kairos_of(request).run(verbs.queue(name))
    return answer(request, {"queue": documents.queue(queue)})
