"""Signals: the inbox of one job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from kairos import operations
from kairos.api import cursors
from kairos.api.idempotency import Key, once
from kairos.api.own_queue import check_job
from kairos.api.path_converters import path_of
from kairos.api.responses import caller_of, kairos_of, page_answer, page_bytes
from kairos.api.schemas import signals as schemas
from kairos.fsm.requests import REQUESTS
from kairos.store.query import Operation

router = APIRouter(tags=["signals"])


@router.get("/api/jobs/{id:number}/signals", response_model=schemas.SignalList)
async def list_signals(
    request: Request,
    id: int,  # noqa: A002 (the name in the path)
    cursor: cursors.AfterId = None,
    limit: cursors.Limit = 500,
) -> Response:
    """List the signals sent to one job, consumed or not, in order."""
    asked = operations.bounded_signals(id, after=cursor or 0, limit=limit, most=page_bytes(request))
    found = await kairos_of(request).run(asked)
    more = str(found.rows[-1].id) if found.more else None
    return page_answer(request, "signals", found.rows, more)


@router.post(path_of(REQUESTS["signal"]), status_code=202, response_model=schemas.SignalAnswer)
async def send_signal(
    request: Request,
    id: int,  # noqa: A002
    wanted: schemas.SignalWanted,
    key: Key = None,
) -> Response:
    """Send a signal to a job that has not ended."""
    await check_job(request, id)
    actor = caller_of(request).actor

    def work() -> Operation[Mapping[str, Any]]:
        delivery = yield from operations.signal(
            id, wanted.name, wanted.payload, dedup_key=wanted.dedup_key, actor=actor
        )
        return {"signal": {"target": id, "name": wanted.name, "answer": delivery}}

    return await once(request, key, 202, work)
