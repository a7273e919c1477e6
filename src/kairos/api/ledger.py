"""Writes the audit log: many requests' rows in one statement, each before the request is let through."""

from __future__ import annotations

import asyncio
from typing import Any, Generic, TypeVar

import structlog

from kairos.app import Kairos
from kairos.store.query import Query, Row
from kairos.verbs.audit import Asked, Ended, ended, put_down

log = structlog.get_logger("kairos.api")

_LARGEST_BATCH = 500
I = TypeVar("I")  # noqa: E741
A = TypeVar("A")


class Ledger:
    """What is asked for is written before it is tried, and how it ended after.

    Neither waits for the disk: the log of a database is written in order, so that a change which is on disk
    has its row on disk before it, and an end that a crash of Postgres forgets leaves a row that says so.
    """

    def __init__(self, kairos: Kairos) -> None:
        self._kairos = kairos
        self._begin: _Batches[Asked, int] = _Batches(self._put_down)
        self._end: _Batches[Ended, None] = _Batches(self._ended)

    async def begin(self, asked: Asked) -> int:
        """Put down what is about to be tried, or was refused; raises if that cannot be done."""
        return await self._begin.add(asked)

    async def end(self, end: Ended) -> None:
        """Put down how it ended. A failure is told, and the row keeps saying that nobody knows."""
        try:
            await self._end.add(end)
        except Exception as error:  # noqa: BLE001 (the change is made by now, and its row is there)
            log.error(
                "the end of a request is missing in the audit log",
                row=end.row,
                status=end.status,
                error=str(error),
            )

    async def _put_down(self, batch: list[Asked]) -> list[int]:
        return [row["id"] for row in await self._run(put_down(batch))]

    async def _ended(self, batch: list[Ended]) -> list[None]:
        await self._run(ended(batch))
        return [None] * len(batch)

    async def _run(self, query: Query) -> Any:
        await self._kairos.open()
        rows: list[Row] = list(await self._kairos.store.run_hastily(query))
        return rows


class _Batches(Generic[I, A]):
    """Sends whatever gathered while the last statement was under way as one statement."""

    def __init__(self, send: Any) -> None:
        self._send = send
        self._waiting: list[tuple[I, asyncio.Future[A]]] = []
        self._sending: asyncio.Task[None] | None = None

    async def add(self, item: I) -> A:
        answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_all())
        return await answer

    async def _send_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:_LARGEST_BATCH], self._waiting[_LARGEST_BATCH:]
            try:
                answers = await self._send([item for item, _ in batch])
            except BaseException as error:  # each of those who wait gets it
                for _, waiting in batch:
                    if not waiting.done():
                        waiting.set_exception(
                            error if isinstance(error, Exception) else asyncio.CancelledError()
                        )
                if not isinstance(error, Exception):
                    raise
                continue
            for (_, waiting), answer in zip(batch, answers, strict=True):
                if not waiting.done():
                    waiting.set_result(answer)
