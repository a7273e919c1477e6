"""Server-sent events: a reader follows a tail, from wherever it was, until the tail ends or the reader does."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kairos.api.protocol import CUT
from kairos.api.tails import Tail
from kairos.errors import BadCursor, Forbidden, TooManyRequests, Unauthorized
from kairos.machine.names import LARGEST_ID
from kairos.store.faults import PASSING

log = structlog.get_logger("kairos.api")

_HEARTBEAT = b": still here\n\n"
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
_RETRY_AFTER = 5


class Slots:
    """How many streams there are, in all and of each caller."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._of: Counter[str] = Counter()

    @property
    def active(self) -> int:
        return self._of.total()

    @contextmanager
    def taken(self, caller: str) -> Iterator[None]:
        """One stream more, for as long as the block lasts."""
        if self._of[caller] >= self._most_of_one:
            raise TooManyRequests(
                f"{caller} follows {self._most_of_one} streams already: close one.", retry_after=_RETRY_AFTER
            )
        if self.active >= self._most:
            raise TooManyRequests("This service has no stream to spare just now.", retry_after=_RETRY_AFTER)
        self._of[caller] += 1
        try:
            yield
        finally:
            self._of[caller] -= 1
            if not self._of[caller]:
                del self._of[caller]


class Stream(Response):
    """The answer to a reader. Its slot is taken when it begins and given back however it ends."""

    media_type = "text/event-stream"

    def __init__(
        self,
        slots: Slots,
        caller: str,
        tail: AbstractContextManager[Tail],
        after: int | None,
        pace: Pace,
        identify: Callable[[], Awaitable[object]],
    ) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no", "Connection": "close"})
        del self.headers["content-length"]
        self._slots = slots
        self._caller = caller
        self._tail = tail
        self._after = after
        self._pace = pace
        self._identify = identify

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._slots.taken(self._caller), self._tail as tail:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            tasks: list[asyncio.Task[Any]] = [
                asyncio.create_task(self._pump(tail, send)),
                asyncio.create_task(_left(receive)),
                asyncio.create_task(self._pace.stopping.wait()),
                asyncio.create_task(self._refused()),
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

    async def _pump(self, tail: Tail, send: Send) -> None:
        async for chunk in follow(tail, self._after, self._pace):
            async with asyncio.timeout(self._pace.patience):
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        async with asyncio.timeout(self._pace.patience):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _refused(self) -> None:
        """Wait until the reader would no longer be let in: its key is revoked, or its session is over."""
        while True:
            await asyncio.sleep(self._pace.heartbeat)
            try:
                await self._identify()
            except (Unauthorized, Forbidden):
                return
            except PASSING as error:
                # Nothing is read meanwhile either; the next heartbeat asks again.
                log.warning("a reader's key could not be looked at", caller=self._caller, error=str(error))

    async def _close(self, pump: asyncio.Task[Any], scope: Scope) -> None:
        error = None if pump.cancelled() else pump.exception()
        if isinstance(error, TimeoutError):
            # It reads nothing any more. What is buffered for it would keep an orderly close waiting for ever.
            log.warning("a reader that had stopped reading is cut off", caller=self._caller)
            cut: Callable[[], None] | None = scope.get("extensions", {}).get(CUT)
            if cut is not None:
                cut()
                await asyncio.sleep(0)  # until the server knows
        if error is not None and not isinstance(error, ClientDisconnect | OSError):
            raise error


class Pace:
    """How long a stream waits for what; `stopping` ends them all."""

    def __init__(
        self,
        stopping: asyncio.Event,
        heartbeat: float = 15.0,
        patience: float = 20.0,
        longest: float = 1800.0,
    ) -> None:
        self.stopping = stopping
        self.heartbeat = heartbeat  # between two signs of life, and two looks at who reads
        self.patience = patience  # with a reader that takes nothing
        self.longest = longest  # any one stream; its reader comes back with its cursor


async def follow(tail: Tail, after: int | None, pace: Pace) -> AsyncIterator[bytes]:
    """What a reader is sent: first what the database has after its cursor, then what comes.

    Its place in the tail is taken before it begins to catch up, so that nothing falls in between; and should it
    fall out of the tail by its slowness, it catches up once more.
    """
    deadline = time.monotonic() + pace.longest
    yield b"retry: 2000\n\n"
    while not tail.ready:
        if not await _changes(tail, pace):
            yield _HEARTBEAT
    place, caught_up = tail.last, tail.cursor
    sent = caught_up if after is None else after
    greet = not tail.ended
    while time.monotonic() < deadline:
        if greet and tail.greeting:
            yield tail.greeting
        greet = False
        while sent < caught_up and tail.page is not None:
            try:
                page = await tail.page(sent, caught_up)
            except PASSING:
                yield _HEARTBEAT
                await asyncio.sleep(1)
                continue
            if page:
                yield b"".join([entry.body for entry in page])
            sent = page[-1].cursor or caught_up if page else caught_up
        events = tail.after(place)
        if events is None:
            place, caught_up, greet = tail.last, tail.cursor, not tail.ended
            continue
        place = tail.last
        if chunk := b"".join([body for cursor, body in events if cursor is None or cursor > sent]):
            yield chunk
        sent = max(sent, *(cursor or 0 for cursor, _ in events), 0)
        if place != tail.last:
            continue
        if tail.ended:
            if tail.final:
                yield tail.final
            return
        if not await _changes(tail, pace):
            yield _HEARTBEAT


def cursor_of(request: Request) -> int | None:
    """Where to go on: what the browser remembers is younger than what the address says."""
    given = request.query_params.getlist("cursor")
    marks = [request.headers["last-event-id"]] if "last-event-id" in request.headers else given
    if not marks:
        return None
    if len(marks) > 1 or not _NUMBER.fullmatch(marks[0]) or int(marks[0]) > LARGEST_ID:
        raise BadCursor("The cursor is not one that an event carried: send the number after its `id:`.")
    return int(marks[0])


async def _changes(tail: Tail, pace: Pace) -> bool:
    """Wait for a change, but no longer than a heartbeat."""
    try:
        async with asyncio.timeout(pace.heartbeat):
            await tail.changed()
    except TimeoutError:
        return False
    return True


async def _left(receive: Receive) -> None:
    """Wait for the client to leave."""
    message: Any = {"type": ""}
    while message["type"] != "http.disconnect":
        message = await receive()
