"""Live streams: one job, or everything."""

from __future__ import annotations

from collections.abc import Awaitable
from contextlib import AbstractContextManager
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from kairos import operations
from kairos.api.caller import Caller
from kairos.api.event_buffer import EventBuffer
from kairos.api.event_hub import EventHub
from kairos.api.responses import caller_of, kairos_of
from kairos.api.sse import Stream, cursor_of

router = APIRouter(tags=["watching"])

Cursor = Annotated[str | None, Query(description="The `id` of the last event that was heard.")]
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "The stream.", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}


@router.get("/api/jobs/{id:number}/events", response_class=Response, responses=_STREAM)
async def follow_job(request: Request, id: int, cursor: Cursor = None) -> Response:  # noqa: A002 (as the path says)
    """Stream the events of one job: `status` at each change of state, `log` for each line, `progress` and `changed`.

    The last `status` has the output or the error.

    Resume with `Last-Event-ID` or `?cursor=N`: the stream continues with line N+1, without a gap or a repeat. A cursor
    beyond the last line begins after that line.
    """
    after = cursor_of(request)
    await kairos_of(request).run(operations.get(id))
    hub: EventHub = await request.app.component(EventHub)
    if after:
        after = min(after, await hub.newest_line(id))
    return _stream(request, hub, hub.job(id), after or 0)


@router.get("/api/events", response_class=Response, responses=_STREAM)
async def follow_everything(
    request: Request,
    summary: Annotated[
        bool, Query(description="Counts by edge, twice a second, in place of each change.")
    ] = False,
    cursor: Cursor = None,
) -> Response:
    """Stream the events of all jobs: `change` at each committed change and `alarm` at each change of an alarm.

    With `summary=true`, `begin` says that every change from now on is sent, `pulse` events count the changes, and
    `lists` names the other lists that changed. `counts` events, at most four a second, say how many jobs were accepted
    and picked by queue.

    Without a cursor the stream begins now. Resume with `Last-Event-ID` or `?cursor=N`; a cursor beyond the last change
    begins now.
    """
    after = cursor_of(request)
    hub: EventHub = await request.app.component(EventHub)
    if after is not None and after > await hub.newest():
        after = None
    buffer = hub.pulse() if summary else hub.feed()
    return _stream(request, hub, buffer, None if summary else after)


def _stream(
    request: Request, hub: EventHub, buffer: AbstractContextManager[EventBuffer], after: int | None
) -> Stream:
    """Return a stream that ends when its reader loses its access."""

    def identify() -> Awaitable[Caller]:
        found: Awaitable[Caller] = request.app.access.identify(request.headers)
        return found

    return Stream(hub.slots, caller_of(request).id, buffer, after, hub.timeouts, identify)
