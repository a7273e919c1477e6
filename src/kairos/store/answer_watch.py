"""Give up a connection whose server hangs, long before the time that a statement may take.

A server that hangs looks like one that is busy with a long statement: its kernel still acknowledges every packet. A new
connection tells them apart, since only a server that works accepts it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

# Seconds that a connection is in use before its server is asked for another one, and between two such questions.
SILENCE = 5.0
# How many new connections in a row must get no answer: a machine may be busy.
TRIES = 2


class AnswerWatch:
    """Watch the server of one connection between `start` and `stop`, while a statement may wait for its answer."""

    def __init__(
        self, answers: Callable[[], Awaitable[bool]], give_up: Callable[[], Awaitable[None]]
    ) -> None:
        """`answers` says whether the same server answers a new connection. After two tries in a row without an answer,
        `give_up` closes the watched connection.
        """
        self._answers = answers
        self._give_up = give_up
        self._loop = asyncio.get_running_loop()
        self._since: float | None = None
        # One timer spans many short uses, and when it fires checks how long the present one has lasted: a timer for
        # each would cost every statement some microseconds.
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self.gave_up = False

    def start(self) -> None:
        self._since = time.monotonic()
        if self._timer is None:
            self._timer = self._loop.call_later(SILENCE, self._check)

    def stop(self) -> None:
        self._since = None
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _check(self) -> None:
        self._timer = None
        if self._since is None:
            return
        left = self._since + SILENCE - time.monotonic()
        if left > 0:
            self._timer = self._loop.call_later(left, self._check)
        else:
            self._task = self._loop.create_task(self._try_server())

    async def _try_server(self) -> None:
        for _ in range(TRIES):
            if await self._answers():
                self._task = None
                self.start()
                return
        self.gave_up = True
        await self._give_up()
