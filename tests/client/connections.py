"""People's own connections, of every kind that `app.on` takes, each open in a transaction."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import asyncpg
import django
import psycopg
from django.conf import settings
from django.db import connection as django_connection
from django.db import connections, transaction
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import namedtuple_row
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session


@dataclass
class Own:
    """`connection` is what `app.on` is given; `write` runs a statement of one's own beside it."""

    connection: Any
    write: Callable[[str], Any]
    commit: Callable[[], Any]
    rollback: Callable[[], Any]


async def settle(answer: Any) -> Any:
    """The value, now or awaited: sync connections answer at once."""
    return await answer if inspect.isawaitable(answer) else answer


@asynccontextmanager
async def of_asyncpg(url: str) -> AsyncIterator[Own]:
    connection = await asyncpg.connect(url)
    transaction = connection.transaction()
    await transaction.start()
    yield Own(connection, connection.execute, transaction.commit, transaction.rollback)
    await connection.close()


@asynccontextmanager
async def of_asyncpg_with_codecs(url: str) -> AsyncIterator[Own]:
    async with of_asyncpg(url) as own:
        for kind in ("json", "jsonb"):
            await own.connection.set_type_codec(
                kind, schema="pg_catalog", encoder=json.dumps, decoder=json.loads
            )
        yield own


@asynccontextmanager
async def of_asyncpg_pool(url: str) -> AsyncIterator[Own]:
    async with asyncpg.create_pool(url, min_size=1, max_size=1) as pool, pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        yield Own(connection, connection.execute, transaction.commit, transaction.rollback)


@asynccontextmanager
async def of_psycopg_async(url: str) -> AsyncIterator[Own]:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        yield Own(connection, connection.execute, connection.commit, connection.rollback)


@asynccontextmanager
async def of_psycopg(url: str) -> AsyncIterator[Own]:
    with psycopg.connect(url, row_factory=namedtuple_row) as connection:
        yield Own(connection, connection.execute, connection.commit, connection.rollback)


def of_sqlalchemy_async(driver: str, *, session: bool) -> Callable[[str], Any]:
    @asynccontextmanager
    async def opened(url: str) -> AsyncIterator[Own]:
        engine = create_async_engine(url.replace("postgresql://", f"postgresql+{driver}://"))
        async with AsyncSession(engine) if session else engine.connect() as connection:
            yield _own(connection)
        await engine.dispose()

    return opened


def of_sqlalchemy(*, session: bool) -> Callable[[str], Any]:
    @asynccontextmanager
    async def opened(url: str) -> AsyncIterator[Own]:
        engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
        with Session(engine) if session else engine.connect() as connection:
            yield _own(connection)
        engine.dispose()

    return opened


def of_django(*, use_tz: bool = True, **options: Any) -> Callable[[str], Any]:
    """`django.db.connection` inside `transaction.atomic()`, with settings as people have them."""

    @asynccontextmanager
    async def opened(url: str) -> AsyncIterator[Own]:
        if not settings.configured:
            settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.postgresql"}})
            django.setup()
        place = conninfo_to_dict(url)
        names = {"NAME": place["dbname"], "HOST": place["host"], "PORT": place["port"], "USER": place["user"]}
        with (
            patch.object(settings, "USE_TZ", use_tz),
            patch.dict(connections.databases["default"], {**names, "OPTIONS": options}),
            # A test's event loop runs in this thread, where Django would rather have none.
            patch.dict(os.environ, {"DJANGO_ALLOW_ASYNC_UNSAFE": "true"}),
        ):
            atomic = transaction.atomic()
            atomic.__enter__()
            error = RuntimeError("changed my mind")
            yield Own(
                django_connection,
                lambda sql: django_connection.cursor().execute(sql),
                lambda: atomic.__exit__(None, None, None),
                lambda: atomic.__exit__(RuntimeError, error, None),
            )
            django_connection.close()
            del connections["default"]  # the next one is another database's

    return opened


def _own(connection: Any) -> Own:
    return Own(connection, lambda sql: connection.execute(text(sql)), connection.commit, connection.rollback)


KINDS: dict[str, Callable[[str], Any]] = {
    "asyncpg": of_asyncpg,
    "asyncpg with jsonb codecs": of_asyncpg_with_codecs,
    "asyncpg from a pool": of_asyncpg_pool,
    "psycopg async": of_psycopg_async,
    "psycopg": of_psycopg,
    "sqlalchemy AsyncSession on asyncpg": of_sqlalchemy_async("asyncpg", session=True),
    "sqlalchemy AsyncConnection on asyncpg": of_sqlalchemy_async("asyncpg", session=False),
    "sqlalchemy AsyncSession on psycopg": of_sqlalchemy_async("psycopg", session=True),
    "sqlalchemy AsyncConnection on psycopg": of_sqlalchemy_async("psycopg", session=False),
    "sqlalchemy Session": of_sqlalchemy(session=True),
    "sqlalchemy Connection": of_sqlalchemy(session=False),
    "django": of_django(),
    "django without time zones": of_django(use_tz=False),
    "django binding on the server": of_django(server_side_binding=True),
}
