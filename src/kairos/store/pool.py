"""Running statements: over asyncpg for the async world, over psycopg for the sync one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeAlias

import asyncpg
import psycopg
from psycopg import RawCursor
from psycopg.rows import dict_row

from kairos.config import Settings
from kairos.store import migrate
from kairos.store.faults import RETRYABLE, UNAVAILABLE, UNREACHABLE, unavailable, unreachable
from kairos.store.query import Query, Row, statements

Connection: TypeAlias = asyncpg.Connection
SyncConnection: TypeAlias = psycopg.Connection[Any]

# A deadlock is a bug to be counted, but never one to lose work over.
_TRIES = 5


async def _keep_session(_: asyncpg.Connection) -> None:
    """Our statements leave nothing behind in a session, so there is nothing to reset on release."""


class AsyncStore:
    """A pool of asyncpg connections that runs `Query` values."""

    def __init__(self, url: str, settings: Settings) -> None:
        self.url = url
        self.settings = settings
        self.sql = statements(settings.schema)
        self._pool: asyncpg.Pool | None = None

    async def open(self) -> None:
        if self._pool is not None:
            return
        try:
            self._pool = await asyncpg.create_pool(
                self.url, min_size=1, max_size=self.settings.pool_size, reset=_keep_session, **self._options()
            )
        except UNREACHABLE as error:
            raise unreachable(error) from error

    async def close(self) -> None:
        if self._pool is not None:
            pool, self._pool = self._pool, None
            await pool.close()

    async def connect(self, url: str | None = None) -> asyncpg.Connection:
        """A connection of one's own, outside the pool."""
        try:
            return await asyncpg.connect(url or self.url, **self._options())
        except UNREACHABLE as error:
            raise unreachable(error) from error

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[asyncpg.Connection]:
        await self.open()
        assert self._pool is not None
        async with self._pool.acquire() as connection:
            yield connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[asyncpg.Connection]:
        async with self.connection() as connection, connection.transaction():
            yield connection

    async def run(self, query: Query) -> Sequence[Row]:
        """Run one statement by itself, retrying when Postgres picked it as a deadlock's victim."""
        for attempt in range(_TRIES):
            try:
                async with self.connection() as connection:
                    return await self.on(connection, query)
            except RETRYABLE:
                if attempt == _TRIES - 1:
                    raise
                await asyncio.sleep(0.005 * 2**attempt)
            except UNAVAILABLE as error:
                raise unavailable(error) from error
        raise AssertionError("unreachable")

    async def on(self, connection: asyncpg.Connection, query: Query) -> Sequence[Row]:
        """Run one statement on a given connection, inside whatever transaction it is in."""
        rows: Sequence[Row] = await connection.fetch(self.sql[query.name], *query.params)
        return rows

    async def migrate(self) -> list[str]:
        connection = await self.connect()
        try:
            return await migrate.migrate(connection, self.settings.schema)
        except UNAVAILABLE as error:
            raise unavailable(error) from error
        finally:
            await connection.close()

    async def check(self) -> None:
        """Refuse to work on a schema this code was not written for, or on a standby."""
        there, version = migrate.version_query(self.settings.schema)
        try:
            async with self.connection() as connection:
                found = await connection.fetchval(version) if await connection.fetchval(there) else None
                standby = await connection.fetchval("select pg_is_in_recovery()")
        except UNAVAILABLE as error:
            raise unavailable(error) from error
        if standby:
            raise unavailable(asyncpg.ReadOnlySQLTransactionError())
        migrate.check(found)

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"timeout": 10, "server_settings": {"application_name": "kairos"}}
        if not self.settings.prepare:
            options["statement_cache_size"] = 0
        return options


class SyncStore:
    """One psycopg connection that runs `Query` values; not shared between threads."""

    def __init__(self, url: str, settings: Settings) -> None:
        self.url = url
        self.settings = settings
        self.sql = statements(settings.schema)
        self._connection: psycopg.Connection | None = None

    def open(self) -> psycopg.Connection:
        if self._connection is None or self._connection.closed:
            self._connection = self.connect()
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def connect(self) -> psycopg.Connection:
        try:
            connection = psycopg.connect(
                self.url, autocommit=True, connect_timeout=10, application_name="kairos"
            )
        except UNREACHABLE as error:
            raise unreachable(error) from error
        if not self.settings.prepare:
            connection.prepare_threshold = None
        return connection

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection]:
        connection = self.connect()
        try:
            with connection.transaction():
                yield connection
        finally:
            connection.close()

    def run(self, query: Query) -> Sequence[Row]:
        try:
            return self.on(self.open(), query)
        except UNAVAILABLE as error:
            raise unavailable(error) from error

    def on(self, connection: psycopg.Connection, query: Query) -> Sequence[Row]:
        with RawCursor(connection, row_factory=dict_row) as cursor:
            cursor.execute(self.sql[query.name].encode(), query.params)
            return cursor.fetchall() if cursor.description else []

    def migrate(self) -> list[str]:
        connection = self.open()
        try:
            return migrate.migrate_sync(connection, self.settings.schema)
        except UNAVAILABLE as error:
            raise unavailable(error) from error

    def check(self) -> None:
        """Refuse to work on a schema this code was not written for, or on a standby."""
        there, version = migrate.version_query(self.settings.schema)
        connection = self.open()
        try:
            found = self._value(connection, version) if self._value(connection, there) else None
            standby = self._value(connection, "select pg_is_in_recovery()")
        except UNAVAILABLE as error:
            raise unavailable(error) from error
        if standby:
            raise unavailable(psycopg.errors.ReadOnlySqlTransaction())
        migrate.check(found)

    @staticmethod
    def _value(connection: psycopg.Connection, sql: str) -> Any:
        row = connection.execute(sql.encode()).fetchone()
        return None if row is None else row[0]
