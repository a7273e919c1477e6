"""Signals: the inbox of one job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from kairos import documents, verbs
from kairos.api import cursors
from kairos.api import schemas_jobs as schemas
from kairos.api.answer import answer, caller_of, kairos_of
from kairos.api.idempotent import Key, once
from kairos.store.query import Verb

router = APIRouter(tags=["signals"])


@router.get("/api/jobs/{id:number}/signals", response_model=schemas.SignalList)
async def list_signals(
    request: Request,
    id: int,  # noqa: A002 (the name in the path)
    cursor: cursors.AfterId = None,
    limit: cursors.Limit = 500,
) -> Response:
    """Everything that was ever sent to one job, consumed or not, in order."""
    kairos = kairos_of(request)
    found = await kairos.run(verbs.signals(id, after=cursor, limit=limit + 1))
    if not found:
        await kairos.get(id)
    rows, more = cursors.page(found, limit, lambda row: row.id)
    return answer(request, {"signals": [documents.signal(row) for row in rows], "nextCursor": more})


@router.post("/api/jobs/{id:number}/signals", status_code=202, response_model=schemas.SignalAnswer)
async def send_signal(
    request: Request,
    id: int,  # noqa: A002
    wanted: schemas.SignalWanted,
    key: Key = None,
) -> Response:
    """Send a signal to a job; one that ended takes none."""
    actor = caller_of(request).actor

    def work() -> Verb[Mapping[str, Any]]:
        told = yield from verbs.signal(
            id, wanted.name, wanted.payload, dedup_key=wanted.dedup_key, actor=actor
        )
        return {"signal": {"target": id, "name": wanted.name, "answer": told}}

    return await once(request, key, 202, work)
