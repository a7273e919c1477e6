"""The asyncpg connections of `ctx.transaction()`: after a commit each is reset, and used by another step.

A new connection for each step would start a process of Postgres, which takes a hundred times as long as a small
transaction.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import asyncpg

from kairos.store.connection_settings import HAS_TRANSACTION_TIMEOUT, NO_TRANSACTION_TIMEOUT
from kairos.store.driver_errors import UNAVAILABLE

# How many connections are kept for later steps; a step that finds all of them in use opens one of its own.
MOST = 100
# Seconds after which an unused connection is closed, and that resetting one may take.
UNUSED, RENEW = 10.0, 2.0


# As DISCARD ALL, except that the driver's prepared statements stay: without them every step would parse and plan its
# statements again, and the driver would look up their types again.
_RENEW_SQL = """
close all;
set session authorization default;
reset all;
unlisten *;
discard temp;
discard sequences;
do $$
declare mine record;
begin
  perform pg_advisory_unlock_all();
  for mine in select name from pg_prepared_statements where from_sql loop
    execute format('deallocate %I', mine.name);
  end loop;
end $$
"""


class StepConnection(asyncpg.Connection):  # type: ignore[misc]
    """A connection that knows whether another step has used it, and whether its driver settings were altered."""

    __slots__ = ("is_altered", "was_used")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.was_used = self.is_altered = False

    async def renew(self) -> None:
        """Remove what a step may have left: settings, locks, temporary tables, its own prepared statements."""
        later = self.get_server_version().major >= HAS_TRANSACTION_TIMEOUT
        await self.execute(f"{_RENEW_SQL}; {NO_TRANSACTION_TIMEOUT}" if later else _RENEW_SQL)
        self.was_used = True

    async def set_type_codec(self, *args: Any, **options: Any) -> None:
        self.is_altered = True
        await super().set_type_codec(*args, **options)

    async def set_builtin_type_codec(self, *args: Any, **options: Any) -> None:
        self.is_altered = True
        await super().set_builtin_type_codec(*args, **options)

    def add_query_logger(self, callback: Any) -> None:
        self.is_altered = True
        super().add_query_logger(callback)

    def add_termination_listener(self, callback: Any) -> None:
        self.is_altered = True
        super().add_termination_listener(callback)


class StepConnections:
    """The pool of one store; `connect` opens a connection with the options that asyncpg's pool adds."""

    def __init__(self, connect: Callable[..., Awaitable[StepConnection]], *, reuse: bool) -> None:
        self._connect = connect
        self._reuse = reuse
        self._pool: asyncpg.Pool | None = None
        self._taken = 0

    async def take(self) -> asyncpg.Connection:
        """Return a connection, to be passed to `give_back` or `discard` later."""
        if not self._reuse or self._taken >= MOST:
            return await self._connect(connection_class=StepConnection)
        if self._pool is None:
            self._pool = await asyncpg.create_pool(
                min_size=0,
                max_size=MOST,
                connect=self._connect_for_pool,
                connection_class=StepConnection,
                reset=StepConnection.renew,
                max_inactive_connection_lifetime=UNUSED,
            )
        self._taken += 1
        try:
            return await self._pool.acquire()
        except BaseException:
            self._taken -= 1
            raise

    async def give_back(self, connection: asyncpg.Connection) -> None:
        """Keep a connection after a commit, or close it if it cannot be reset."""
        if not _is_pooled(connection) or is_lost(connection) or connection.is_altered:
            await self.discard(connection)
            return
        self._taken -= 1
        assert self._pool is not None
        with suppress(*UNAVAILABLE):  # the pool has closed it, and what it was used for is committed
            await self._pool.release(connection, timeout=RENEW)

    async def discard(self, connection: asyncpg.Connection) -> None:
        """Close a connection, which rolls back what it has not committed."""
        self._taken -= _is_pooled(connection)
        try:
            await connection.close(timeout=RENEW)
        except UNAVAILABLE:
            drop(connection)  # it is gone already, or does not answer

    async def expire(self) -> None:
        """Close the connections instead of using them again: their server may be gone."""
        if self._pool is not None:
            await self._pool.expire_connections()

    def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.terminate()

    async def _connect_for_pool(self, *_: Any, **options: Any) -> StepConnection:
        return await self._connect(**options)


def is_lost(connection: asyncpg.Connection) -> bool:
    """Whether a connection is closed, or was taken back by its pool because the server closed it."""
    try:
        return bool(connection.is_closed())
    except asyncpg.InterfaceError:
        return True


def was_used(connection: asyncpg.Connection) -> bool:
    """Whether another step has used the connection; False if the pool has taken it back, as it is closed."""
    return bool(getattr(connection, "was_used", False))


def drop(connection: asyncpg.Connection) -> None:
    """Close the socket of a connection; do nothing if it was already released to the pool."""
    with suppress(asyncpg.InterfaceError):
        connection.terminate()


def _is_pooled(connection: asyncpg.Connection) -> bool:
    return isinstance(connection, asyncpg.pool.PoolConnectionProxy)
