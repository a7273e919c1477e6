"""`app.on`: run our statements on a user's own connection, so that a job commits with the user's rows.

`executor` recognises the driver; a new driver is one more branch there and one more adapter below.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import asyncpg
import psycopg
from psycopg import AsyncRawCursor, RawCursor
from psycopg.rows import dict_row
from psycopg.types.datetime import TimestamptzLoader

from kairos.errors import BadRequest
from kairos.store.query import Row

Execute = Callable[[str, tuple[Any, ...]], Sequence[Row] | Awaitable[Sequence[Row]]]

_DOLLAR = re.compile(r"\$(\d+)")


def executor(connection: Any) -> tuple[Execute, bool]:
    """Return a function that runs a statement on this connection, and whether its result must be awaited."""
    if isinstance(connection, psycopg.AsyncConnection):
        return _psycopg_async(connection), True
    if isinstance(connection, psycopg.Connection):
        return _psycopg_sync(connection), False
    if isinstance(connection, asyncpg.Connection | asyncpg.pool.PoolConnectionProxy):
        return _asyncpg(connection), True
    family = type(connection).__module__.partition(".")[0]
    if hasattr(connection, "get_bind") or (family == "sqlalchemy" and hasattr(connection, "exec_driver_sql")):
        is_async = hasattr(connection, "run_sync")
        return (_sqlalchemy_async if is_async else _sqlalchemy_sync)(connection), is_async
    if hasattr(connection, "settings_dict") and hasattr(connection, "cursor"):
        _require_postgres(connection.vendor)
        return _django(connection), False
    gives_them = any(hasattr(connection, name) for name in ("connect", "acquire", "getconn", "begin"))
    hint = ": take a connection from it" if gives_them else ""
    raise BadRequest(
        f"app.on() takes a psycopg, asyncpg, SQLAlchemy or Django connection, not {type(connection).__name__}{hint}."
    )


def _require_postgres(vendor: str) -> None:
    if vendor != "postgresql":
        raise BadRequest(f"app.on() takes a connection to Postgres, and this one is to {vendor}.")


def _asyncpg(connection: Any) -> Execute:
    async def execute(sql: str, params: tuple[Any, ...]) -> Sequence[Row]:
        rows: Sequence[Row] = await connection.fetch(sql, *params)
        return rows

    return execute


def _psycopg_async(connection: psycopg.AsyncConnection[Any]) -> Execute:
    async def execute(sql: str, params: tuple[Any, ...]) -> Sequence[Row]:
        async with AsyncRawCursor(connection, row_factory=dict_row) as cursor:
            await cursor.execute(sql.encode(), params)
            return await cursor.fetchall() if cursor.description else []

    return execute


def _psycopg_sync(connection: psycopg.Connection[Any]) -> Execute:
    def execute(sql: str, params: tuple[Any, ...]) -> Sequence[Row]:
        with RawCursor(connection, row_factory=dict_row) as cursor:
            cursor.execute(sql.encode(), params)
            return cursor.fetchall() if cursor.description else []

    return execute


def _sqlalchemy_sync(session: Any) -> Execute:
    def execute(sql: str, params: tuple[Any, ...]) -> Sequence[Row]:
        # A Session returns the connection of its transaction.
        connection = session.connection() if hasattr(session, "get_bind") else session
        return _driver_sql(connection, sql, params)

    return execute


def _sqlalchemy_async(session: Any) -> Execute:
    async def execute(sql: str, params: tuple[Any, ...]) -> Sequence[Row]:
        connection = session
        if hasattr(session, "get_bind"):
            connection = await session.connection()
        rows: Sequence[Row] = await connection.run_sync(_driver_sql, sql, params)
        return rows

    return execute


def _driver_sql(connection: Any, sql: str, params: tuple[Any, ...]) -> Sequence[Row]:
    """Run a statement through SQLAlchemy, which begins its transaction first."""
    _require_postgres(connection.dialect.name)
    if connection.dialect.paramstyle == "numeric_dollar":
        result = connection.exec_driver_sql(sql, params)
    else:
        result = connection.exec_driver_sql(*_pyformat(sql, params))
    return [row._mapping for row in result] if result.returns_rows else []


def _django(connection: Any) -> Execute:
    def execute(sql: str, params: tuple[Any, ...]) -> Sequence[Row]:
        with connection.cursor() as cursor:
            if hasattr(cursor.cursor, "adapters"):
                # With USE_TZ off Django drops the time zone of every instant; Kairos needs it.
                cursor.cursor.adapters.register_loader("timestamptz", TimestamptzLoader)
            cursor.execute(*_pyformat(sql, params))
            if cursor.description is None:
                return []
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    return execute


def _pyformat(sql: str, params: tuple[Any, ...]) -> tuple[str, dict[str, Any]]:
    named = {f"p{number}": value for number, value in enumerate(params, 1)}
    return _DOLLAR.sub(r"%(p\1)s", sql.replace("%", "%%")), named
