"""ASGI middleware that lets few requests begin in each turn of the event loop."""

from __future__ import annotations

import asyncio
from collections import deque

from starlette.types import ASGIApp, Receive, Scope, Send

from kairos.api.request_limits import ANY_HOST, path_within

# How many requests begin in one turn: some milliseconds of work.
_AT_ONCE = 4


class FairTurns:
    """Begin requests in the order in which they came, a few in each turn of the event loop; health checks at once.

    Whatever is ready runs before new bytes are read. If hundreds of connections pipeline requests, each of them has one
    ready in every turn, and a new connection needs several turns.

    At most `most` requests wait, and others begin at once: clients that left may have requests here, without limit.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most
        self._begun = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and path_within(scope) not in ANY_HOST:
            await self._wait()
        await self._app(scope, receive, send)

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        if not self._begun:
            loop.call_soon(self._next_turn)
        if (self._begun < _AT_ONCE and not self._waiting) or len(self._waiting) >= self._most:
            self._begun += 1
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _next_turn(self) -> None:
        self._begun = 0
        while self._waiting and self._begun < _AT_ONCE:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._begun += 1
        if self._begun:
            asyncio.get_running_loop().call_soon(self._next_turn)
