"""Workers: who is there, and asking one to leave."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from kairos import documents, verbs
from kairos.api import cursors
from kairos.api import schemas_places as schemas
from kairos.api.answer import answer, kairos_of

router = APIRouter(tags=["workers"])


@router.get("/api/workers", response_model=schemas.WorkerList)
async def list_workers(
    request: Request, cursor: cursors.AfterName = None, limit: cursors.Limit = 500
) -> Response:
    """The workers that are there, and those that were lost without a word within a day."""
    found = await kairos_of(request).run(verbs.workers(after=cursor, limit=limit + 1))
    workers, more = cursors.page(found, limit, lambda worker: worker.id)
    return answer(request, {"workers": [documents.worker(each) for each in workers], "nextCursor": more})


@router.get("/api/workers/{id}", response_model=schemas.WorkerAnswer)
async def read_worker(request: Request, id: str) -> Response:  # noqa: A002 (the name in the path)
    """One worker."""
    return answer(request, {"worker": documents.worker(await kairos_of(request).run(verbs.worker(id)))})


@router.post("/api/workers/{id}/drain", status_code=202, response_model=schemas.WorkerAnswer)
async def drain_worker(request: Request, id: str) -> Response:  # noqa: A002
    """Ask a worker to take no more jobs, finish those it runs, and end."""
    return answer(request, {"worker": documents.worker(await kairos_of(request).run(verbs.drain(id)))}, 202)
