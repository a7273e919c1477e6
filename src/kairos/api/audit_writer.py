"""Write the audit log: rows of many requests in one statement, each before its request runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sized
from dataclasses import replace
from itertools import islice
from typing import Any, Generic, TypeVar

from kairos.app import Kairos
from kairos.json_codec import printable
from kairos.logger import Logger
from kairos.operations.audit import AuditedRequest, AuditedResponse, finish_audit, insert_audit
from kairos.store.query import Query, Row

log = Logger("kairos.api")

_LARGEST_BATCH = 500
# How many values of a list, and of an object, a row keeps in its details, and how many characters of a text.
_MOST_DETAILS = 20
_LONGEST_TEXT = 500
I = TypeVar("I")  # noqa: E741
A = TypeVar("A")


class AuditWriter:
    """Write a row before each change is tried, and its status afterwards.

    Neither write waits for the disk. The WAL is written in order, so a change that is on disk has its audit row on
    disk too; if a crash of Postgres loses the second write, the row is left without a status.
    """

    def __init__(self, kairos: Kairos) -> None:
        self._kairos = kairos
        self._begin: _Batches[AuditedRequest, int] = _Batches(self._insert)
        self._end: _Batches[AuditedResponse, None] = _Batches(self._finish)

    async def begin(self, asked: AuditedRequest) -> int:
        """Write the row of a change that is about to run or was refused; raise if it cannot be written."""
        return await self._begin.add(replace(asked, details=_bounded(asked.details)))

    async def end(self, end: AuditedResponse) -> None:
        """Write the status of a request. A failure is logged, and the row is left without a status."""
        try:
            await self._end.add(replace(end, details=_bounded(end.details)))
        except Exception as error:  # noqa: BLE001 (the change is committed, and its row exists)
            log.error(
                "the end of a request is missing in the audit log",
                row=end.row,
                status=end.status,
                error=str(error),
            )

    async def _insert(self, batch: list[AuditedRequest]) -> list[int]:
        return [row["id"] for row in await self._run(insert_audit(batch))]

    async def _finish(self, batch: list[AuditedResponse]) -> list[None]:
        await self._run(finish_audit(batch))
        return [None] * len(batch)

    async def _run(self, query: Query) -> Any:
        await self._kairos.open()
        rows: list[Row] = list(await self._kairos.store.run_without_fsync(query))
        return rows


def _bounded(details: Any) -> Any:
    """Cut long texts and lists in the details of a row: what a caller sends must not grow the log at will."""
    if isinstance(details, str):
        return printable(details, _LONGEST_TEXT)
    if isinstance(details, dict):
        kept = {name: _bounded(value) for name, value in islice(details.items(), _MOST_DETAILS)}
        return {**kept, "…": _more(details)} if len(details) > _MOST_DETAILS else kept
    if isinstance(details, list):
        cut = [_bounded(value) for value in details[:_MOST_DETAILS]]
        return [*cut, _more(details)] if len(details) > _MOST_DETAILS else cut
    return details


def _more(details: Sized) -> str:
    return f"and {len(details) - _MOST_DETAILS:,} more"


class _Batches(Generic[I, A]):
    """Collect items while a statement runs, and send them together as the next one."""

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
            except BaseException as error:  # passed on to every caller of the batch
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
