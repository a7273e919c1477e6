"""Running statements in the async world: a pool of asyncpg connections."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeAlias, TypeVar

import asyncpg

from kairos.config import Settings
from kairos.store import migrate, primary
from kairos.store.faults import RETRYABLE, TRIES, UNAVAILABLE, UNREACHABLE, unavailable, unreachable
from kairos.store.query import HINTS, Query, Row, Verb, drive, statements

T = TypeVar("T")

Connection: TypeAlias = asyncpg.Connection

# Our statements are few and always meant to go by index, one plan for all parameters: planning a pick anew for each
# limit costs more than the pick, and a plan made for yesterday's small table would scan today's large one.
_PLANS = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "jit": "off"}

# Our statements are short: one without an answer for so long went into a network that lost it.
PATIENCE = 60.0
# How long a pool waits for its connections when it is closed.
_FAREWELL = 5.0


async def _keep_session(_: asyncpg.Connection) -> None:
    """Our statements leave nothing behind in a session, so there is nothing to reset on release."""


class AsyncStore:
    """A pool of asyncpg connections that runs `Query` values."""

    def __init__(self, url: str, settings: Settings) -> None:
        self.url = url
        self.settings = settings
        self.sql = statements(settings.schema)
        self._pool: asyncpg.Pool | None = None
        self._hasty: asyncpg.Connection | None = None
        self._inspected = 0.0
        self._haste = asyncio.Lock()  # several workers may share an app

    async def open(self) -> None:
        if self._pool is not None:
            return
        try:
            self._pool = await asyncpg.create_pool(
                self.url,
                min_size=1,
                max_size=self.settings.pool_size,
                init=self._inspect if self.settings.require_standby else None,
                reset=_keep_session,
                command_timeout=PATIENCE,
                **self._options(),
            )
        except UNREACHABLE as error:
            raise unreachable(error) from error

    async def close(self) -> None:
        """Say goodbye to Postgres, or hang up on one that does not answer."""
        hasty, self._hasty = self._hasty, None
        pool, self._pool = self._pool, None
        for each in (hasty, pool):
            if each is None:
                continue
            try:
                async with asyncio.timeout(_FAREWELL):
                    await each.close()
            except UNAVAILABLE:
                each.terminate()

    async def _inspect(self, connection: asyncpg.Connection) -> None:
        if not await connection.fetchval(primary.WAITS_FOR_STANDBY):
            raise primary.no_standby()
        self._inspected = time.monotonic()

    async def connect(self, url: str | None = None) -> asyncpg.Connection:
        """A connection of one's own, outside the pool."""
        try:
            connection = await asyncpg.connect(url or self.url, **self._options())
        except UNREACHABLE as error:
            raise unreachable(error) from error
        if self.settings.require_standby:
            try:
                await self._inspect(connection)
            except BaseException:
                connection.terminate()
                raise
        return connection

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[asyncpg.Connection]:
        await self.open()
        assert self._pool is not None
        async with self._pool.acquire() as connection:
            if self.settings.require_standby and time.monotonic() - self._inspected > primary.TRUSTED:
                await self._inspect(connection)
            yield connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[asyncpg.Connection]:
        async with self.connection() as connection, connection.transaction():
            yield connection

    async def run(self, query: Query) -> Sequence[Row]:
        """Run one statement by itself, retrying when Postgres picked it as a deadlock's victim."""
        for attempt in range(TRIES):
            try:
                async with self.connection() as connection:
                    return await self.on(connection, query)
            except RETRYABLE:
                if attempt == TRIES - 1:
                    raise
                await asyncio.sleep(0.005 * 2**attempt)
            except UNAVAILABLE as error:
                raise unavailable(error) from error
        raise AssertionError("unreachable")

    async def transact(self, make: Callable[[], Verb[T]]) -> tuple[T, list[Query]]:
        """Run a verb in one transaction, anew if Postgres picked it as a deadlock's victim.

        Answers what the verb does, and the hints that are to be sent now that it is committed.
        """
        for attempt in range(TRIES):
            hints: list[Query] = []
            try:
                async with self.transaction() as connection:
                    answer = await drive(make(), partial(self._within, connection, hints))
            except RETRYABLE:
                if attempt == TRIES - 1:
                    raise
                await asyncio.sleep(0.005 * 2**attempt)
            except UNAVAILABLE as error:
                raise unavailable(error) from error
            else:
                return answer, hints
        raise AssertionError("unreachable")

    async def _within(
        self, connection: asyncpg.Connection, hints: list[Query], query: Query
    ) -> Sequence[Row]:
        if query.name in HINTS:
            hints.append(query)
            return ()
        rows = await self.on(connection, query)
        if query.pokes:
            hints.append(Query("notify_queues", (sorted(query.pokes),)))
        return rows

    async def run_hastily(self, query: Query) -> Sequence[Row]:
        """Run one statement whose commit need not wait for the disk.

        Only for what may be forgotten in a crash of Postgres without harm: a forgotten claim leaves its job
        runnable, and the outcome of the run that held it is stale. Behind a pooler it is a plain `run`.
        """
        if not self.settings.prepare:
            return await self.run(query)
        try:
            async with self._haste:
                if self._hasty is None or self._hasty.is_closed():
                    self._hasty = await asyncpg.connect(
                        self.url, command_timeout=PATIENCE, **self._options(synchronous_commit="off")
                    )
                return await self.on(self._hasty, query)
        except UNAVAILABLE as error:
            raise unavailable(error) from error

    async def on(self, connection: asyncpg.Connection, query: Query) -> Sequence[Row]:
        """Run one statement on a given connection, inside whatever transaction it is in."""
        rows: Sequence[Row] = await connection.fetch(self.sql[query.name], *query.params)
        return rows

    async def migrate(self) -> list[str]:
        connection = await self.connect()
        try:
            return await migrate.migrate(
                connection, self.settings.schema, audit_retention=self.settings.audit_retention
            )
        except UNAVAILABLE as error:
            raise unavailable(error) from error
        finally:
            await connection.close()

    async def check(self) -> None:
        """Refuse to work on a schema this code was not written for, or on a standby or otherwise read-only."""
        there, version = migrate.version_query(self.settings.schema)
        try:
            async with self.connection() as connection:
                found = await connection.fetchval(version) if await connection.fetchval(there) else None
                read_only = await connection.fetchval(primary.READ_ONLY)
        except UNAVAILABLE as error:
            raise unavailable(error) from error
        if read_only:
            raise unavailable(asyncpg.ReadOnlySQLTransactionError())
        migrate.check(found)

    def _options(self, **server_settings: str) -> dict[str, Any]:
        """How every connection is made; a pooler in transaction mode takes no settings and keeps no statements."""
        options: dict[str, Any] = {"timeout": 10, "server_settings": {"application_name": "kairos"}}
        if self.settings.prepare:
            options["server_settings"].update(_PLANS, **server_settings)
        else:
            options["statement_cache_size"] = 0
        return options
