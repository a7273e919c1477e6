"""Hints to workers that there is work: a notice that may be lost, since they look by themselves too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any


class Poker:
    """Coalesces hints to workers: the first goes out at once, then at most one per 2 ms for any number of jobs."""

    def __init__(self, send: Callable[[list[str]], Any]) -> None:
        self._send = send
        self._queues: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    def poke(self, queues: Iterable[str]) -> None:
        self._queues.update(queues)
        if self._queues and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._drain())

    async def close(self) -> None:
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _drain(self) -> None:
        while self._queues:
            queues, self._queues = sorted(self._queues), set()
            await self._send(queues)
            await asyncio.sleep(0.002)
