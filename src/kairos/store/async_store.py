"""Run statements asynchronously, on a pool of asyncpg connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TypeVar

import asyncpg

from kairos.config import Settings
from kairos.store import connection_settings, migrate, server_checks
from kairos.store.async_connections import AsyncConnections
from kairos.store.async_connections import Connection as Connection
from kairos.store.connection_settings import STATEMENT_TIMEOUT
from kairos.store.driver_errors import (
    OVERRUN,
    REFUSED,
    RETRYABLE,
    ROW_REFUSED,
    TRIES,
    UNAVAILABLE,
    UNUSABLE,
    first_line,
    remove_row,
    unavailable,
    unusable,
)
from kairos.store.outbox import AsyncOutbox
from kairos.store.query import Operation, Outbox, Query, Row, drive, statements
from kairos.store.step_connections import StepConnections, drop
from kairos.store.sync_step_connections import SyncStepConnections

T = TypeVar("T")

# How long the last notifications may take.
CLOSE_TIMEOUT = 5.0


class AsyncStore:
    """Run `Query` values; `statement_timeout` is how many seconds to wait for the answer to each."""

    def __init__(
        self,
        url: str,
        settings: Settings,
        *,
        connections: AsyncConnections | None = None,
        outbox: AsyncOutbox | None = None,
        statement_timeout: float = STATEMENT_TIMEOUT,
    ) -> None:
        self.url = url
        self.settings = settings
        self.sql = statements(settings.schema)
        self.statement_timeout = statement_timeout
        self.connections = connections or AsyncConnections(url, settings)
        self.outbox = outbox or AsyncOutbox(self.run)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def for_worker(self, lease: float) -> AsyncStore:
        """Return a store with the same connections and a short timeout for the loops of a worker.

        Their statements are short: if one gets no answer for most of a lease, the network or the server hangs.
        """
        await self.connections.use_lease(lease)
        statement_timeout = self.connections.deadlines.statement
        store = AsyncStore(
            self.url,
            self.settings,
            connections=self.connections,
            outbox=self.outbox,
            statement_timeout=statement_timeout,
        )
        store.sql = self.sql
        return store

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self.connections.open()

    @property
    def is_lost(self) -> bool:
        """Whether its event loop was closed before it: its connections went with the loop."""
        return self._loop is not None and self._loop.is_closed()

    async def close(self) -> None:
        """Send what is in the outbox and close the connections, or drop them if Postgres does not answer."""
        await self.outbox.close(CLOSE_TIMEOUT)
        await self.connections.close()

    async def connect(self, url: str | None = None) -> asyncpg.Connection:
        """Open a connection outside the pool, for Kairos's own statements."""
        return await self.connections.connect(url, command_timeout=self.statement_timeout)

    async def take_step_connection(self) -> asyncpg.Connection:
        """Return a connection for `ctx.transaction()`, without the planner settings of Kairos's own statements."""
        return await self.connections.take_for_step()

    @property
    def step_connections(self) -> StepConnections:
        """The pool that `take_step_connection` takes from, and that takes the connection back."""
        return self.connections.step_connections

    @property
    def sync_step_connections(self) -> SyncStepConnections:
        """The connections of `ctx.transaction()` in `def` steps."""
        return self.connections.sync_step_connections

    def connection(self) -> AbstractAsyncContextManager[asyncpg.Connection]:
        """Acquire a connection of the pool."""
        return self.connections.acquire()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[asyncpg.Connection]:
        async with self.connection() as connection:
            # Set for each transaction: behind a pooler it cannot be set for the connection.
            transaction = connection.transaction(isolation="read_committed")
            await transaction.start()
            try:
                if not self.settings.prepare:
                    await connection.execute(
                        connection_settings.transaction_settings(self.connections.deadlines)
                    )
                yield connection
            except (TimeoutError, asyncio.CancelledError):
                drop(connection)  # closing rolls back; a ROLLBACK would wait for an answer too
                raise
            except BaseException:
                await transaction.rollback()
                raise
            else:
                await transaction.commit()

    async def run(self, query: Query) -> Sequence[Row]:
        """Run one statement in its own transaction; retry it after a deadlock."""

        async def once() -> Sequence[Row]:
            async with self.connection() as connection:
                return await self.on(connection, query)

        return await self._retried(once)

    async def transact(self, make: Callable[[], Operation[T]]) -> T:
        """Run an operation in one transaction, retry it after a deadlock, then send its notifications."""

        async def work(connection: asyncpg.Connection, outbox: Outbox) -> T:
            return await drive(make(), partial(self.on, connection), outbox)

        return await self.in_transaction(work)

    async def in_transaction(self, work: Callable[[asyncpg.Connection, Outbox], Awaitable[T]]) -> T:
        """Run `work` in one transaction as `transact` does, where an operation alone is not enough."""

        async def once() -> T:
            outbox = Outbox()
            async with self.transaction() as connection:
                answer = await work(connection, outbox)
            self.outbox.add(outbox.take())
            return answer

        return await self._retried(once)

    async def _retried(self, work: Callable[[], Awaitable[T]]) -> T:
        for attempt in range(TRIES):
            try:
                return await work()
            except RETRYABLE:
                if attempt == TRIES - 1:
                    raise
                await asyncio.sleep(0.005 * 2**attempt)
            except UNUSABLE as error:
                raise unusable(error) from error
        raise AssertionError("unreachable")

    async def attempt(self, connection: asyncpg.Connection, query: Query) -> Sequence[Row] | str:
        """Run one statement in a savepoint; return its rows, or the reason if Postgres refused it.

        A lost connection or a deadlock still ends the transaction.
        """
        try:
            async with connection.transaction():  # a savepoint
                return await self.on(connection, query)
        except OVERRUN as error:
            return first_line(error)
        except (*RETRYABLE, *UNUSABLE):
            raise
        except REFUSED as error:
            return first_line(error)

    async def run_without_fsync(self, query: Query) -> Sequence[Row]:
        """Run one statement with synchronous_commit off.

        Only for writes that a crash of Postgres may lose without harm: a lost claim leaves its job runnable, and the
        outcome of the run that held it is stale. Behind a pooler this is `run`.
        """
        if not self.settings.prepare:
            return await self.run(query)
        try:
            async with self.connections.unsynced() as connection:
                return await self.on(connection, query)
        except UNUSABLE as error:
            raise unusable(error) from error

    async def on(self, connection: asyncpg.Connection, query: Query) -> Sequence[Row]:
        """Run one statement on a given connection, inside its transaction if it has one."""
        try:
            rows: Sequence[Row] = await connection.fetch(
                self.sql[query.name], *query.params, timeout=self.statement_timeout
            )
        except ROW_REFUSED as error:
            remove_row(error)
            raise
        return rows

    async def migrate(self) -> list[str]:
        """Bring the schema up to date, on separate connections, past a pooler if there is a direct URL."""
        try:
            return await migrate.migrate(
                partial(self.connections.connect_for_migration, self.settings.direct_url),
                self.settings,
            )
        except UNAVAILABLE as error:
            raise unavailable(error) from error

    async def check(self) -> None:
        """Raise if the schema does not fit this code, the server is read-only, or its settings break Kairos's rules."""
        try:
            async with self.connection() as connection:
                await drive(server_checks.check_server(self.settings.schema), connection.fetchval)
        except UNUSABLE as error:
            raise unusable(error) from error

    async def check_commits(self) -> None:
        """Raise while commits wait for a synchronous standby that is away."""
        try:
            async with self.connection() as connection:
                away = await connection.fetchval(server_checks.STANDBY_AWAY)
        except UNAVAILABLE as error:
            raise unavailable(error) from error
        if away:
            raise server_checks.standby_away()

    async def check_space(self) -> None:
        """Raise if Postgres has no disk space for new rows."""
        try:
            async with self.connection() as connection:
                if not await connection.fetchval("select has_database_privilege(current_database(), 'temp')"):
                    return  # without temporary tables it cannot be tried safely
                attempt = connection.transaction()
                await attempt.start()
                try:
                    await connection.execute("set local temp_tablespaces = ''")
                    await connection.execute(server_checks.TAKES_SPACE)
                finally:
                    await attempt.rollback()
        except UNAVAILABLE as error:
            raise unavailable(error) from error

    async def may_lose_commits(self) -> bool:
        """Whether a crash of Postgres may lose commits: behind a pooler Kairos cannot set synchronous_commit itself."""
        return not self.settings.prepare and await self.inherited("synchronous_commit") == "off"

    async def inherited(self, setting: str) -> str:
        """Return the default of a setting for this user and database, as a user's own connection has it."""
        connection = await self.connections.connect_with_defaults()
        try:
            value: str = await connection.fetchval("select current_setting($1)", setting)
        except UNAVAILABLE as error:
            raise unavailable(error) from error
        finally:
            await connection.close(timeout=self.connections.deadlines.connect)
        return value
