"""Live streams: one job, or everything."""

from __future__ import annotations

from collections.abc import Awaitable
from contextlib import AbstractContextManager
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kairos import verbs
from kairos.api.answer import caller_of, kairos_of
from kairos.api.caller import Caller
from kairos.api.hub import Hub
from kairos.api.stream import Stream, cursor_of
from kairos.api.tails import Tail

router = APIRouter(tags=["watching"])

_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "The stream.", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}


@router.get("/api/jobs/{id:number}/events", response_class=Response, responses=_STREAM)
async def follow_job(request: Request, id: int) -> Response:  # noqa: A002 (as the path says)
    """`status` at each change of state and `log` at each line; the last `status` has the output or the error.

    Resume with `Last-Event-ID` or `?cursor=N`: line N+1 and on, without a gap or a repeat.
    """
    after = cursor_of(request)
    await kairos_of(request).run(verbs.get(id))
    hub: Hub = await request.app.part(Hub)
    return _stream(request, hub, hub.job(id), after or 0)


@router.get("/api/events", response_class=Response, responses=_STREAM)
async def follow_everything(
    request: Request,
    summary: Annotated[
        bool, Query(description="Counts by edge, twice a second, in place of each change.")
    ] = False,
) -> Response:
    """`change` at each committed change of any job and `alarm` at each change of an alarm, or `pulse` with counts.

    Without a cursor it begins now. Resume with `Last-Event-ID` or `?cursor=N`.
    """
    after = cursor_of(request)
    hub: Hub = await request.app.part(Hub)
    tail = hub.pulse() if summary else hub.feed()
    return _stream(request, hub, tail, None if summary else after)


def _stream(request: Request, hub: Hub, tail: AbstractContextManager[Tail], after: int | None) -> Stream:
    """A stream that ends when its reader would no longer be let in."""

    def identify() -> Awaitable[Caller]:
        found: Awaitable[Caller] = request.app.access.identify(request.headers)
        return found

    return Stream(hub.slots, caller_of(request).id, tail, after, hub.pace, identify)
