"""The routes of queues: list, limit, pause and resume."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from kairos import operations, shapes
from kairos.api import cursors
from kairos.api.own_queue import check_own_queue
from kairos.api.queue_quota import check_queues
from kairos.api.responses import answer, changed, kairos_of, page_answer
from kairos.api.schemas import queues as schemas

router = APIRouter(tags=["queues"])


@router.get("/api/queues", response_model=schemas.QueueList)
async def list_queues(
    request: Request, cursor: cursors.AfterName = None, limit: cursors.Limit = 500
) -> Response:
    """List the queues that have or had jobs, have settings or have a live worker."""
    found = await kairos_of(request).run(operations.queues(after=cursor, limit=limit + 1))
    return page_answer(request, "queues", *cursors.page(found, limit, lambda queue: queue.name))


@router.get("/api/queues/{name}", response_model=schemas.QueueAnswer)
async def read_queue(request: Request, name: str) -> Response:
    """Return one queue, if it has or had jobs, has settings or has a live worker."""
    return await _queue(request, name)


@router.patch("/api/queues/{name}", response_model=schemas.QueueAnswer)
async def limit_queue(request: Request, name: str, changes: schemas.QueueChanges) -> Response:
    """Set some of a queue's limits over all workers; `null` removes one."""
    given = {field: getattr(changes, field) for field in changes.model_fields_set}
    limits: dict[str, Any] = {
        field: (value.limit, value.seconds) if isinstance(value, schemas.RateWanted) else value
        for field, value in given.items()
    }
    request.state.audit = changed(changes)
    await _check(request, name)
    await kairos_of(request).run(operations.limit(name, only=sorted(given), **limits))
    return await _queue(request, name)


@router.post("/api/queues/{name}/pause", response_model=schemas.QueueAnswer)
async def pause_queue(request: Request, name: str) -> Response:
    """Stop picking from a queue; running jobs continue."""
    await _check(request, name)
    await kairos_of(request).run(operations.pause(name))
    return await _queue(request, name)


@router.post("/api/queues/{name}/resume", response_model=schemas.QueueAnswer)
async def resume_queue(request: Request, name: str) -> Response:
    """Pick from a queue again."""
    await _check(request, name)
    await kairos_of(request).run(operations.resume(name))
    return await _queue(request, name)


async def _check(request: Request, name: str) -> None:
    """Refuse a new queue past the quota, and Kairos's own queue, which delivers alarms, to all but admins."""
    check_own_queue(request, name)
    await check_queues(request, name)


async def _queue(request: Request, name: str) -> Response:
    queue = await kairos_of(request).run(operations.queue(name))
    return answer(request, {"queue": shapes.document(queue)})
