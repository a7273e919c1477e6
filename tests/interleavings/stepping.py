"""A store that hands its statements to whoever decides their order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from kairos.config import Settings
from kairos.store.query import Outbox, Query, Row

COMMIT, ROLLBACK, DIE = "commit", "rollback", "die"
VANISH = "commit and vanish"
# How a transaction may end; the last commits and is never heard of again.
ENDINGS = (COMMIT, ROLLBACK, DIE, VANISH)
UNDONE = (ROLLBACK, DIE)
# Two sessions, of which at most one ends badly.
PAIRS = ((COMMIT, COMMIT), (ROLLBACK, COMMIT), (COMMIT, ROLLBACK), (DIE, COMMIT), (COMMIT, DIE))


class AuditedResponse(Exception):
    """The session's process is gone; nothing of its code runs any more."""


class StepStore:
    """What engine code needs of an `AsyncStore`; a statement by itself is a statement and a commit."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.outbox = Outbox()  # nobody sends it: notifications are only hints
        self.ending = COMMIT
        self.ends = ""  # the statement whose transaction ends so; the first one if none is named
        self._sent: list[str] = []
        self.gated: frozenset[str] = frozenset()
        self.coarse = False  # whole transactions are its steps, not statements
        self.effect: tuple[Query | str, bool]
        self._wanted = asyncio.Event()
        self._answer: asyncio.Future[Sequence[Row]]

    # What the explorer sees

    async def wants(self) -> None:
        await self._wanted.wait()
        self._wanted.clear()

    def answer(self, statement: asyncio.Future[Any]) -> None:
        error = statement.exception()
        if error is None:
            self._answer.set_result(statement.result())
        else:
            self._answer.set_exception(error)

    @property
    def is_reading(self) -> bool:
        """Whether what it sent so far in this transaction leaves no trace that others could meet."""
        return all(name.startswith(("read_", "notify_", "next_due")) for name in self._sent)

    # What engine code sees

    async def run(self, query: Query) -> Sequence[Row]:
        async with self.transaction():
            return await self.on(None, query)

    run_without_fsync = run

    async def on(self, connection: None, query: Query) -> Sequence[Row]:
        self._sent.append(query.name)
        return await self._step(query)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        self._sent.clear()
        try:
            yield
        except BaseException as error:
            if not isinstance(error, AuditedResponse | asyncio.CancelledError | GeneratorExit):
                await self._step(ROLLBACK)
            raise
        if self.ending == COMMIT or (self.ends and self.ends not in self._sent):
            await self._step(COMMIT)
            return
        await self._step(COMMIT if self.ending == VANISH else self.ending)
        raise AuditedResponse

    connection = transaction

    async def _step(self, effect: Query | str) -> Sequence[Row]:
        loop = asyncio.get_running_loop()
        self._answer = loop.create_future()
        self.effect = (effect, isinstance(effect, Query) and effect.name in self.gated)
        self._wanted.set()
        return await self._answer


Session = Callable[[StepStore], Awaitable[Any]]
