"""`ctx.transaction()`: a step's own writes and its outcome in one commit."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from kairos.errors import StepError
from kairos.store.blocking import SyncConnection, SyncStore
from kairos.store.faults import MISUSED, UNAVAILABLE
from kairos.store.pool import AsyncStore, Connection
from kairos.store.query import Row, Verb, drive, drive_sync

# How long a connection that no longer answers may hold up its closing.
_FAREWELL = 2.0


class StepTransaction:
    """Opened by the step, closed by the commit of its outcome.

    Each block is a savepoint: an error that leaves it undoes its writes, also when the step catches it.
    """

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._sync_store = SyncStore(store.url, store.settings)
        self._connection: Connection | None = None
        self._sync: SyncConnection | None = None
        self._outer: Any = None
        self._savepoints: list[Any] = []
        self._severed = False

    async def __aenter__(self) -> Connection:
        if self._connection is None:
            self._connection = await self._store.connect()
            self._outer = self._connection.transaction()
            await self._outer.start()
        savepoint = self._connection.transaction()
        await savepoint.start()
        self._savepoints.append(savepoint)
        return self._connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: Any
    ) -> None:
        savepoint = self._savepoints.pop()
        if kind is None:
            await savepoint.commit()
        else:
            await savepoint.rollback()

    def __enter__(self) -> SyncConnection:
        if self._severed:
            raise RuntimeError("The step was given up: its transaction is rolled back.")
        if self._sync is None:
            self._sync = self._sync_store.connect()
            self._outer = self._sync.transaction()
            self._outer.__enter__()
        savepoint = self._sync.transaction()
        savepoint.__enter__()
        self._savepoints.append(savepoint)
        return self._sync

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        self._savepoints.pop().__exit__(kind, error, trace)

    @property
    def is_open(self) -> bool:
        return self._connection is not None or self._sync is not None

    async def commit(self, settle: Callable[[], Verb[list[Row]]]) -> Sequence[Row]:
        """Write the outcome on the step's own connection and commit both; a stale outcome undoes both."""
        try:
            if self._sync is not None:
                return await asyncio.to_thread(self._commit_sync, settle)
            return await self._commit_async(settle)
        finally:
            await self.rollback()

    async def rollback(self) -> None:
        """Forget what was not committed: closing a connection in a transaction rolls it back."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            try:
                await connection.close(timeout=_FAREWELL)
            except UNAVAILABLE:
                connection.terminate()  # it is gone already, or does not answer
        if self._sync is not None:
            self._sync.close()
            self._sync = None

    def sever(self) -> None:
        """Roll back under a thread that may be using the connection still: only the socket is safe to touch."""
        self._severed = True
        if self._sync is not None:
            line, self._sync = socket.socket(fileno=os.dup(self._sync.fileno())), None
            with line, suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    async def _commit_async(self, settle: Callable[[], Verb[list[Row]]]) -> Sequence[Row]:
        assert self._connection is not None
        try:
            rows = await drive(settle(), partial(self._store.on, self._connection))
            if rows:
                await self._outer.commit()
        except MISUSED as error:
            if self._connection.is_closed():
                raise
            # Nothing is in doubt: a task that the step left behind is using the connection.
            raise StepError(f"The step left its transaction in use: {error}") from error
        return rows

    def _commit_sync(self, settle: Callable[[], Verb[list[Row]]]) -> Sequence[Row]:
        assert self._sync is not None
        rows = drive_sync(settle(), partial(self._sync_store.on, self._sync))
        if rows:
            self._outer.__exit__(None, None, None)
        return rows
