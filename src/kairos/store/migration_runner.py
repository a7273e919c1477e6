"""Execute the effects of a migration, async and sync: transactions, single statements, and the migration mutex."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

import asyncpg
import psycopg

from kairos.store.driver_errors import RETRYABLE
from kairos.store.query import Pause

# One migration at a time. The lock belongs to an idle transaction on a second connection: a session lock would be lost
# behind a pooler, and one on the first connection cannot be held while an index is built concurrently. Other processes
# poll for it: a statement that waits has a snapshot, and a concurrent build waits for all snapshots.
MUTEX = 0x6B6169726F73
# While a migration waits for a table lock, every later statement on the table queues behind it. So it waits briefly,
# gives up, lets the others run, and tries again. The wait is longer than deadlock_timeout (1 s), after which Postgres
# cancels an autovacuum that blocks it.
LOCK_TIMEOUT = timedelta(seconds=2)
# A concurrent build waits for every older transaction, but no statement queues behind it.
SNAPSHOT_TIMEOUT = timedelta(seconds=60)
_HELD_UP: tuple[type[BaseException], ...] = (
    asyncpg.LockNotAvailableError,
    psycopg.errors.LockNotAvailable,
    *RETRYABLE,
)
# A migrator that is frozen between two statements of a step has locked a table, and every worker waits for it.
IDLE_TIMEOUT = timedelta(seconds=2)
_NEVER = timedelta(0)
# The backend of a migrator that was killed notices that within a second, also in the middle of a long statement.
_SETTINGS = {"statement_timeout": 0, "client_connection_check_interval": 1000}


@dataclass(frozen=True, slots=True)
class Fetch:
    """Read one value."""

    sql: str


@dataclass(frozen=True, slots=True)
class Atomic:
    """Run statements in one transaction; the result is the error if other transactions blocked it, else None."""

    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OutsideTransaction:
    """Run one statement outside a transaction; the result is as for `Atomic`."""

    sql: str


@dataclass(frozen=True, slots=True)
class TryMutex:
    """Take the migration mutex; the result is whether that succeeded."""


@dataclass(frozen=True, slots=True)
class KeepMutex:
    """Check that the connection that holds the mutex is still open; raise if it is not."""


Effect: TypeAlias = Fetch | Atomic | OutsideTransaction | TryMutex | KeepMutex | Pause


def _local(lock_timeout: timedelta, idle_timeout: timedelta = IDLE_TIMEOUT) -> str:
    settings = {
        **_SETTINGS,
        "lock_timeout": lock_timeout // timedelta(milliseconds=1),
        "idle_in_transaction_session_timeout": idle_timeout // timedelta(milliseconds=1),
    }
    return "; ".join(f"set local {name} = {value}" for name, value in settings.items())


def _for_session(lock_timeout: timedelta) -> str:
    return _local(lock_timeout).replace("set local", "set")


_RESET = "; ".join(
    f"reset {name}" for name in (*_SETTINGS, "lock_timeout", "idle_in_transaction_session_timeout")
)
# By the simple protocol: a statement of the extended one keeps its snapshot while its transaction is idle, and a
# concurrent build would wait for it.
_TAKE_MUTEX = f"""
begin; {_local(LOCK_TIMEOUT, _NEVER)};
do $$ begin
  if not pg_try_advisory_xact_lock({MUTEX}) then raise lock_not_available; end if;
end $$"""
_STAY = "select 1"


class AsyncRunner:
    """Runs effects over asyncpg."""

    def __init__(self, connect: Callable[[], Awaitable[asyncpg.Connection]]) -> None:
        self._connect = connect
        self._connection: asyncpg.Connection | None = None
        self._mutex: asyncpg.Connection | None = None

    async def run(self, effect: Effect) -> Any:
        if self._connection is None:
            self._connection = await self._connect()
        answer: Any = None
        match effect:
            case Fetch(sql):
                answer = await self._connection.fetchval(sql)
            case Atomic(statements):
                answer = await self._atomic(self._connection, statements)
            case OutsideTransaction(sql):
                answer = await self._alone(self._connection, sql)
            case TryMutex():
                answer = await self._try_mutex()
            case KeepMutex() if self._mutex is not None:
                await self._mutex.execute(_STAY)
        return answer

    async def _atomic(
        self, connection: asyncpg.Connection, statements: Sequence[str]
    ) -> BaseException | None:
        try:
            async with connection.transaction():
                await connection.execute(_local(LOCK_TIMEOUT))
                for sql in statements:
                    await connection.execute(sql)
        except _HELD_UP as error:
            return error
        return None

    async def _alone(self, connection: asyncpg.Connection, sql: str) -> BaseException | None:
        await connection.execute(_for_session(SNAPSHOT_TIMEOUT))
        try:
            await connection.execute(sql)
        except _HELD_UP as error:
            return error
        finally:
            if not connection.is_closed():
                await connection.execute(_RESET)
        return None

    async def _try_mutex(self) -> bool:
        if self._mutex is None:
            self._mutex = await self._connect()
        try:
            await self._mutex.execute(_TAKE_MUTEX)
        except asyncpg.LockNotAvailableError:
            await self._mutex.execute("rollback")
            return False
        return True

    async def close(self) -> None:
        for connection in (self._connection, self._mutex):
            if connection is not None:
                await connection.close()


class SyncRunner:
    """Runs effects over psycopg."""

    def __init__(self, connect: Callable[[], psycopg.Connection[Any]]) -> None:
        self._connect = connect
        self._connection: psycopg.Connection[Any] | None = None
        self._mutex: psycopg.Connection[Any] | None = None

    def run(self, effect: Effect) -> Any:
        if self._connection is None:
            self._connection = self._connect()
        answer: Any = None
        match effect:
            case Fetch(sql):
                answer = _value(self._connection, sql)
            case Atomic(statements):
                answer = self._atomic(self._connection, statements)
            case OutsideTransaction(sql):
                answer = self._alone(self._connection, sql)
            case TryMutex():
                answer = self._try_mutex()
            case KeepMutex() if self._mutex is not None:
                self._mutex.execute(_STAY, prepare=False)
        return answer

    def _atomic(self, connection: psycopg.Connection[Any], statements: Sequence[str]) -> BaseException | None:
        try:
            with connection.transaction():
                for sql in (_local(LOCK_TIMEOUT), *statements):
                    connection.execute(sql.encode())
        except _HELD_UP as error:
            return error
        return None

    def _alone(self, connection: psycopg.Connection[Any], sql: str) -> BaseException | None:
        connection.execute(_for_session(SNAPSHOT_TIMEOUT).encode())
        try:
            connection.execute(sql.encode())
        except _HELD_UP as error:
            return error
        finally:
            if not connection.closed:
                connection.execute(_RESET.encode())
        return None

    def _try_mutex(self) -> bool:
        if self._mutex is None:
            self._mutex = self._connect()
        try:
            self._mutex.execute(_TAKE_MUTEX.encode(), prepare=False)
        except psycopg.errors.LockNotAvailable:
            self._mutex.execute("rollback", prepare=False)
            return False
        return True

    def close(self) -> None:
        for connection in (self._connection, self._mutex):
            if connection is not None:
                connection.close()


def _value(connection: psycopg.Connection[Any], sql: str) -> Any:
    row = connection.execute(sql.encode()).fetchone()
    return None if row is None else row[0]
