"""Server-sent events: send a reader the events after its cursor, then new ones as they come."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kairos.api.event_buffer import EventBuffer, chunks
from kairos.api.http_protocol import CUT
from kairos.errors import BadCursor, Forbidden, TooManyRequests, Unauthorized
from kairos.logger import Logger
from kairos.machine.field_checks import LARGEST_ID
from kairos.store.driver_errors import PASSING

log = Logger("kairos.api")

_HEARTBEAT = b": still here\n\n"
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
_RETRY_AFTER = 5


class Slots:
    """Count and limit the open streams, in all and of each caller."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._of: Counter[str] = Counter()

    @property
    def active(self) -> int:
        return self._of.total()

    @contextmanager
    def taken(self, caller: str) -> Iterator[None]:
        """Take a slot for the length of the block; raise `TooManyRequests` if there is none."""
        if self._of[caller] >= self._most_of_one:
            raise TooManyRequests(
                f"{caller} has {self._most_of_one} streams and waits already: close one.",
                retry_after=_RETRY_AFTER,
            )
        if self.active >= self._most:
            raise TooManyRequests(
                "This service serves its maximum of streams and waits already: try again later.",
                retry_after=_RETRY_AFTER,
            )
        self._of[caller] += 1
        try:
            yield
        finally:
            self._of[caller] -= 1
            if not self._of[caller]:
                del self._of[caller]


class Stream(Response):
    """The streaming response to one reader. It takes a slot when it starts and frees it however it ends."""

    media_type = "text/event-stream"

    def __init__(
        self,
        slots: Slots,
        caller: str,
        buffer: AbstractContextManager[EventBuffer],
        after: int | None,
        timeouts: StreamTimeouts,
        identify: Callable[[], Awaitable[object]],
    ) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no", "Connection": "close"})
        del self.headers["content-length"]
        self._slots = slots
        self._caller = caller
        self._buffer = buffer
        self._after = after
        self._timeouts = timeouts
        self._identify = identify

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._slots.taken(self._caller), self._buffer as buffer:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            tasks: list[asyncio.Task[Any]] = [
                asyncio.create_task(self._pump(buffer, send)),
                asyncio.create_task(_disconnected(receive)),
                asyncio.create_task(self._timeouts.stopping.wait()),
                asyncio.create_task(self._access_lost()),
            ]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        await self._close(tasks[0], scope)
        if any(task.done() and not task.cancelled() for task in tasks[2:]):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pump(self, buffer: EventBuffer, send: Send) -> None:
        async for chunk in follow(buffer, self._after, self._timeouts):
            async with asyncio.timeout(self._timeouts.write_timeout):
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        async with asyncio.timeout(self._timeouts.write_timeout):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _access_lost(self) -> None:
        """Wait until the reader loses its access: its key is revoked, or its session is over."""
        while True:
            await asyncio.sleep(self._timeouts.heartbeat)
            try:
                await self._identify()
            except (Unauthorized, Forbidden):
                return
            except PASSING as error:
                # The stream gets no events meanwhile either; the key is checked again at the next heartbeat.
                log.warning(
                    "the key of a stream's reader could not be checked", caller=self._caller, error=str(error)
                )

    async def _close(self, pump: asyncio.Task[Any], scope: Scope) -> None:
        error = None if pump.cancelled() else pump.exception()
        if isinstance(error, TimeoutError):
            # The client stopped reading. An orderly close would wait for ever for the buffered bytes.
            log.warning("the connection of a reader that stopped reading is closed", caller=self._caller)
            cut: Callable[[], None] | None = scope.get("extensions", {}).get(CUT)
            if cut is not None:
                cut()
                await asyncio.sleep(0)  # let the server notice the closed connection
        if error is not None and not isinstance(error, ClientDisconnect | OSError):
            raise error


class StreamTimeouts:
    """The timeouts of streams; `stopping` ends them all."""

    def __init__(
        self,
        stopping: asyncio.Event,
        heartbeat: float = 15.0,
        write_timeout: float = 20.0,
        max_duration: float = 1800.0,
    ) -> None:
        self.stopping = stopping
        # Seconds between two heartbeats, and between two checks of the reader's key.
        self.heartbeat = heartbeat
        # Seconds before a reader that does not read is cut off.
        self.write_timeout = write_timeout
        # Seconds that one stream may last; the reader reconnects with its cursor.
        self.max_duration = max_duration


async def follow(buffer: EventBuffer, after: int | None, timeouts: StreamTimeouts) -> AsyncIterator[bytes]:
    """Yield what a reader is sent: first the events after its cursor from the database, then new ones.

    The reader's position in the buffer is taken before it catches up, so that no event is missed. A reader that falls
    behind the buffer catches up from the database again.
    """
    deadline = time.monotonic() + timeouts.max_duration
    yield b"retry: 2000\n\n"
    while not buffer.ready:
        if not await _changes(buffer, timeouts):
            yield _HEARTBEAT
    position, caught_up = buffer.last, buffer.cursor
    sent = caught_up if after is None else after
    send_snapshot = not buffer.ended
    while time.monotonic() < deadline:
        if send_snapshot and buffer.snapshot:
            yield buffer.snapshot
        send_snapshot = False
        while sent < caught_up and buffer.page is not None:
            try:
                page = await buffer.page(sent, caught_up)
            except PASSING:
                yield _HEARTBEAT
                await asyncio.sleep(1)
                continue
            for chunk in chunks(entry.body for entry in page):
                yield chunk
            sent = page[-1].cursor or caught_up if page else caught_up
        events = buffer.after(position)
        if events is None:
            position, caught_up, send_snapshot = buffer.last, buffer.cursor, not buffer.ended
            continue
        position += len(events)
        for chunk in chunks([body for cursor, body in events if cursor is None or cursor > sent]):
            yield chunk
        sent = max(sent, *(cursor or 0 for cursor, _ in events), 0)
        if position != buffer.last:
            continue
        if buffer.ended:
            if buffer.final:
                yield buffer.final
            return
        if not await _changes(buffer, timeouts):
            yield _HEARTBEAT


def cursor_of(request: Request) -> int | None:
    """Return the cursor to resume after: `Last-Event-ID` wins over `?cursor=`, which is older after a reconnect."""
    parameters = request.query_params.getlist("cursor")
    cursors = [request.headers["last-event-id"]] if "last-event-id" in request.headers else parameters
    if not cursors:
        return None
    if len(cursors) > 1 or not _NUMBER.fullmatch(cursors[0]) or int(cursors[0]) > LARGEST_ID:
        raise BadCursor("The cursor is not one that an event carried: send the number after its `id:`.")
    return int(cursors[0])


async def _changes(buffer: EventBuffer, timeouts: StreamTimeouts) -> bool:
    """Wait for a change, at most for a heartbeat; return whether there was one."""
    try:
        async with asyncio.timeout(timeouts.heartbeat):
            await buffer.changed()
    except TimeoutError:
        return False
    return True


async def _disconnected(receive: Receive) -> None:
    """Wait for the client to leave."""
    message: Any = {"type": ""}
    while message["type"] != "http.disconnect":
        message = await receive()
