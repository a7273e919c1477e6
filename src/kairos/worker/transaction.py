"""`ctx.transaction()`: a step's own writes and its outcome in one commit."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from kairos.errors import DatabaseUnavailable, StepError, StepTimeout
from kairos.store.async_store import AsyncStore, Connection
from kairos.store.connection_settings import STEP_OPEN_AT_MOST
from kairos.store.driver_errors import MISUSED, OUTDATED, PASSING, READ_ONLY, UNAVAILABLE
from kairos.store.query import Operation, Outbox, Query, drive, drive_sync
from kairos.store.step_connections import drop, is_lost, was_used
from kairos.store.sync_store import BoundedConnection, SyncConnection
from kairos.worker.commit import Answers

# Seconds that a transaction may be open if its step has no timeout: a server that hangs would otherwise keep the step
# running, and its lease renewed, for ever.
OPEN_AT_MOST = STEP_OPEN_AT_MOST
# How long the commit may take before the connection counts as lost.
COMMIT_AT_MOST = 30.0
# How long a connection that no longer answers may delay a rollback, and its closing.
_CLOSE_TIMEOUT = 2.0


def session_name(job: int, lease: int, schema: str) -> str:
    """Return the application_name of a step's transaction, by which the reaper of its lease ends the session."""
    return f"kairos step {job}:{lease} {schema}"[:63]


class StepTransaction:
    """The transaction that a step opens and the commit of its outcome closes; one task or thread uses it at a time.

    Each `with` block is a savepoint: an error that leaves it undoes its writes, even if the step catches the error.
    """

    def __init__(
        self, store: AsyncStore, loop: asyncio.AbstractEventLoop, name: str, at_most: float | None = None
    ) -> None:
        self._store = store
        self._name = name
        self._at_most = OPEN_AT_MOST if at_most is None else at_most
        self._loop = loop
        self._connection: Connection | None = None
        self._sync: BoundedConnection | None = None
        self._outer: Any = None
        self._savepoints: list[Any] = []
        self._user: object = None  # the task or thread that is inside a block
        self._aborted = False
        self._expired = False
        self._misused: BaseException | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self.lost: BaseException | None = None  # why the connection was lost, if the step did not cause it
        self.lost_in_use = False

    async def __aenter__(self) -> Connection:
        self._enter_block(asyncio.current_task())
        opening = self._connection is None
        with self._watched(opening=opening):
            if opening:
                await self._open()
            connection = self._connection
            assert connection is not None
            savepoint = connection.transaction()
            await savepoint.start()
            self._savepoints.append(savepoint)
        return connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: Any
    ) -> None:
        savepoint = self._savepoints.pop()
        assert self._connection is not None
        with self._watched():
            if error is not None:
                self._note_loss(error)
                await self._undo(self._connection, savepoint)
            else:
                await savepoint.commit()
        if error is not None:
            self._check_time(error)

    def __enter__(self) -> SyncConnection:
        if self._aborted:
            raise RuntimeError("The worker has abandoned this step and rolled back its transaction.")
        self._enter_block(threading.current_thread())
        opening = self._sync is None
        with self._watched(opening=opening):
            if opening:
                self._open_sync()
            connection = self._sync
            assert connection is not None
            savepoint = connection.transaction()
            savepoint.__enter__()
            self._savepoints.append(savepoint)
        return connection

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        savepoint = self._savepoints.pop()
        with self._watched():
            if error is not None:
                self._note_loss(error)
            savepoint.__exit__(kind, error, trace)
        if error is not None:
            self._check_time(error)

    @property
    def is_open(self) -> bool:
        return self._connection is not None or self._sync is not None

    async def commit(self, settle: Callable[[], Operation[Answers]]) -> Answers:
        """Write the outcome on the step's own connection and commit both; a stale outcome undoes both."""
        outbox = Outbox()
        try:
            if self._sync is not None:
                rows = await self._within_time(asyncio.to_thread(self._commit_sync, settle, outbox))
            else:
                async with asyncio.timeout(COMMIT_AT_MOST):
                    rows = await self._commit_async(settle, outbox)
        except BaseException as error:
            await self.close()
            if isinstance(error, PASSING):
                self._check_time(error)
            raise
        await self.close(committed=bool(rows))
        if rows:
            self._store.outbox.add(outbox.take())
        return rows

    async def close(self, *, committed: bool = False) -> None:
        """Give the connection back after a commit, or close it, which rolls back what was not committed."""
        if self._deadline is not None:
            self._deadline.cancel()
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connections = self._store.step_connections
            await (connections.give_back if committed else connections.discard)(connection)
        if self._sync is not None:
            self._sync.close()
            self._sync = None
        if self.lost is not None:
            await self._store.step_connections.expire()
            self._store.sync_step_connections.close()

    def abort(self) -> None:
        """Roll back while a thread may still use the connection, by shutting down its socket."""
        self._aborted = True
        self._cut_connection()
        self._sync = None

    def _enter_block(self, user: object) -> None:
        """Refuse a second task or thread: a rollback of its block could undo writes of the first one's block."""
        if self._savepoints and self._user is not user:
            raise StepError(
                "ctx.transaction() is open in another task of this step: leave that block before you enter one here."
            )
        if self._user is not None and self._user is not user:
            raise StepError(
                "ctx.transaction() is being opened by another task of this step: use it from one task at a time."
            )
        self._user = user

    @contextmanager
    def _watched(self, *, opening: bool = False) -> Iterator[None]:
        """Note an error that lost the connection or ran out of time; admit other tasks once no block is open."""
        try:
            yield
        except BaseException as error:
            self._note_loss(error, opening=opening)
            self._check_time(error)
            raise
        finally:
            if not self._savepoints:
                self._user = None

    async def _open(self) -> None:
        connection = self._connection = await self._store.take_step_connection()
        self._arm()
        while not await self._begin(connection):
            await self._store.step_connections.discard(connection)
            connection = self._connection = await self._store.take_step_connection()

    async def _begin(self, connection: Connection) -> bool:
        """Begin the transaction; return False if the connection was lost since another step had used it."""
        used = was_used(connection)  # asked now: the pool forgets a connection that is lost
        self._outer = connection.transaction(isolation="read_committed")
        try:
            async with asyncio.timeout(self._store.statement_timeout):
                await self._outer.start()
                await self._store.on(connection, Query("name_session", (self._name,)))
        except UNAVAILABLE:
            if self._is_ended or not used:
                raise
            return False
        return True

    def _open_sync(self) -> None:
        connections = self._store.sync_step_connections
        connection = self._sync = connections.take()
        self._loop.call_soon_threadsafe(self._arm)
        while not self._begin_sync(connection):
            connection.close()
            connection = self._sync = connections.take()

    def _begin_sync(self, connection: BoundedConnection) -> bool:
        """`_begin` over psycopg."""
        self._outer = connection.transaction()
        try:
            with connection.answering_within(self._store.statement_timeout):
                self._outer.__enter__()
                self._store.sync_step_connections.store.on(connection, Query("name_session", (self._name,)))
        except UNAVAILABLE:
            if self._is_ended or not connection.was_used:
                raise
            return False
        return True

    @property
    def _is_ended(self) -> bool:
        return self._expired or self._aborted

    def _arm(self) -> None:
        self._deadline = self._loop.call_later(self._at_most, self._expire)

    def _expire(self) -> None:
        if self.is_open:
            self._expired = True
            self._cut_connection()

    def _cut_connection(self) -> None:
        """Cut the connection; a statement that is running on it raises."""
        if self._connection is not None:
            drop(self._connection)
        if self._sync is not None:
            with suppress(OSError), socket.socket(fileno=os.dup(self._sync.fileno())) as line:
                line.shutdown(socket.SHUT_RDWR)

    async def _undo(self, connection: Connection, savepoint: Any) -> None:
        """Roll back a block; if the server does not answer, cut the connection, which rolls back everything."""
        try:
            async with asyncio.timeout(_CLOSE_TIMEOUT):
                await savepoint.rollback()
        except UNAVAILABLE as error:
            if isinstance(error, MISUSED) and not is_lost(connection):
                self._misused = error
            drop(connection)

    def _note_loss(self, error: BaseException, *, opening: bool = False) -> None:
        """Record the error if it lost the connection, if the server is read-only, or if the driver's knowledge of the
        schema, which an earlier step left, is outdated.

        Other errors of the step's own SQL are not recorded. While the transaction is being opened, only those of an
        unavailable database are.
        """
        if self._expired or self._aborted or self.lost is not None or not isinstance(error, Exception):
            return
        if opening:
            if isinstance(error, (DatabaseUnavailable, *UNAVAILABLE)):
                self.lost = error
        elif self._is_closed() or isinstance(error, READ_ONLY) or self._is_outdated(error):
            self.lost, self.lost_in_use = error, True

    def _is_outdated(self, error: BaseException) -> bool:
        used = self._connection is not None and was_used(self._connection)
        return used and isinstance(error, OUTDATED)

    def _is_closed(self) -> bool:
        if self._connection is not None:
            return is_lost(self._connection)
        return self._sync is None or self._sync.closed

    def _check_time(self, error: BaseException) -> None:
        """Raise `StepTimeout` if the error was caused by the time limit of the transaction."""
        if self._expired and isinstance(error, Exception):
            raise StepTimeout(
                f"ctx.transaction() was open for longer than {self._at_most:g} s: give the step a timeout of its "
                "own, or split its work."
            ) from error

    async def _within_time(self, work: Any) -> Answers:
        """Wait for the commit in a thread; when its time is over, cut the connection, so that it raises."""
        task = asyncio.ensure_future(work)
        await asyncio.wait({task}, timeout=COMMIT_AT_MOST)
        if not task.done():
            self._cut_connection()
        rows: Answers = await task
        return rows

    async def _commit_async(self, settle: Callable[[], Operation[Answers]], outbox: Outbox) -> Answers:
        assert self._connection is not None
        try:
            rows = await drive(settle(), partial(self._store.on, self._connection), outbox)
            if rows:
                await self._outer.commit()
        except MISUSED as error:
            if is_lost(self._connection) and self._misused is None:
                raise
            # Nothing was committed: a task that the step left behind is using the connection.
            raise StepError(f"The step left its transaction in use: {self._misused or error}") from error
        return rows

    def _commit_sync(self, settle: Callable[[], Operation[Answers]], outbox: Outbox) -> Answers:
        assert self._sync is not None
        connections = self._store.sync_step_connections
        rows = drive_sync(settle(), partial(connections.store.on, self._sync), outbox)
        if rows:
            self._outer.__exit__(None, None, None)
            connection, self._sync = self._sync, None
            connections.give_back(connection)
            self._loop.call_soon_threadsafe(connections.close_unused_later, self._loop)
        return rows
