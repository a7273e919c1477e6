"""The routes of workers: list, read and drain."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from kairos import operations, shapes
from kairos.api import cursors
from kairos.api.responses import answer, kairos_of, page_answer
from kairos.api.schemas import workers as schemas

router = APIRouter(tags=["workers"])


@router.get("/api/workers", response_model=schemas.WorkerList)
async def list_workers(
    request: Request, cursor: cursors.AfterName = None, limit: cursors.Limit = 500
) -> Response:
    """List the live workers, and those that were lost within a day."""
    found = await kairos_of(request).run(operations.workers(after=cursor, limit=limit + 1))
    return page_answer(request, "workers", *cursors.page(found, limit, lambda worker: worker.id))


@router.get("/api/workers/{id}", response_model=schemas.WorkerAnswer)
async def read_worker(request: Request, id: str) -> Response:  # noqa: A002 (the name in the path)
    """Return one worker."""
    return answer(request, {"worker": shapes.document(await kairos_of(request).run(operations.worker(id)))})


@router.post("/api/workers/{id}/drain", status_code=202, response_model=schemas.WorkerAnswer)
async def drain_worker(request: Request, id: str) -> Response:  # noqa: A002
    """Ask a worker to pick no more jobs, finish those it runs, and end."""
    return answer(
        request, {"worker": shapes.document(await kairos_of(request).run(operations.drain(id)))}, 202
    )
