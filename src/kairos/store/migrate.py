"""Forward-only, numbered migrations, and the loud refusal when code and schema do not fit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from importlib.resources import files
from typing import Any, TypeAlias

import asyncpg
import psycopg

from kairos.errors import MigrationBlocked, SchemaMismatch
from kairos.store.faults import RETRYABLE
from kairos.store.query import drive, drive_sync, in_schema

# Two migrators at once: the second waits here and then finds nothing left to do.
_LOCK = 0x6B6169726F73
# Whoever comes after a migration that waits for a table waits behind it: so it waits for a moment, lets them pass,
# and tries again after each of these pauses.
LOCK_TIMEOUT = timedelta(seconds=2)
PAUSES: tuple[float, ...] = (0.5, 1, 2, 4, 5, 5, 5, 5, 5, 5)
_HELD_UP: tuple[type[BaseException], ...] = (
    asyncpg.LockNotAvailableError,
    psycopg.errors.LockNotAvailable,
    *RETRYABLE,
)


@dataclass(frozen=True, slots=True)
class Migration:
    version: int
    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class _Run:
    """Statements to run; `asks` says that it is one, and that its value is wanted."""

    sql: str
    asks: bool = False


_Script: TypeAlias = Generator[_Run, Any, str | None]


def migrations(schema: str = "kairos") -> tuple[Migration, ...]:
    """All of them, in order; the file names carry the numbers."""
    folder = files("kairos.store") / "sql" / "migrations"
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return tuple(
        Migration(int(name[:4]), name.removesuffix(".sql"), in_schema((folder / name).read_text(), schema))
        for name in names
    )


def wanted_version() -> int:
    """The schema version this code was written for."""
    return migrations()[-1].version


async def migrate(
    connection: asyncpg.Connection, schema: str = "kairos", *, audit_retention: timedelta | None = None
) -> list[str]:
    """Bring the schema up on a connection of its own; answers the names of what it applied."""
    applied: list[str] = []
    pauses = iter(PAUSES)
    while True:
        try:
            async with connection.transaction():
                name = await drive(_script(schema, audit_retention), partial(_run, connection))
        except _HELD_UP as error:
            if (pause := next(pauses, None)) is None:
                raise _blocked(applied, await connection.fetchrow(_blocker(schema))) from error
            await asyncio.sleep(pause)
            continue
        if name is None:
            return applied
        applied.append(name)


def migrate_sync(
    connection: psycopg.Connection[Any], schema: str = "kairos", *, audit_retention: timedelta | None = None
) -> list[str]:
    """`migrate` over psycopg."""
    applied: list[str] = []
    pauses = iter(PAUSES)
    while True:
        try:
            with connection.transaction():
                name = drive_sync(_script(schema, audit_retention), partial(_run_sync, connection))
        except _HELD_UP as error:
            if (pause := next(pauses, None)) is None:
                raise _blocked(applied, connection.execute(_blocker(schema).encode()).fetchone()) from error
            time.sleep(pause)
            continue
        if name is None:
            return applied
        applied.append(name)


async def _run(connection: asyncpg.Connection, run: _Run) -> Any:
    return await (connection.fetchval if run.asks else connection.execute)(run.sql)


def _run_sync(connection: psycopg.Connection[Any], run: _Run) -> Any:
    done = connection.execute(run.sql.encode())
    return (done.fetchone() or (None,))[0] if run.asks else None


def _script(schema: str, audit_retention: timedelta | None) -> _Script:
    """One transaction: the next migration, whose name it answers, or where there is none left the settings.

    Each by itself, so that a table that one has locked is not kept from the workers while another builds its
    indexes. Other migrators are waited for as long as they take: nobody waits behind that.
    """
    yield _Run("set local lock_timeout = 0")
    yield _Run(f"select pg_advisory_xact_lock({_LOCK})")
    yield _Run(f"set local lock_timeout = {LOCK_TIMEOUT // timedelta(milliseconds=1)}")
    yield _Run(_bookkeeping(schema))
    for migration in pending((yield _Run(_version(schema), asks=True)), schema):
        yield _Run(migration.sql)
        yield _Run(_record(migration, schema))
        return migration.name
    if audit_retention is not None:
        seconds = int(audit_retention.total_seconds())
        kept = f"select extract(epoch from {schema}.audit_retention())::bigint"  # noqa: S608 (a checked name)
        if (yield _Run(kept, asks=True)) != seconds:
            yield _Run(_keep_audit(schema, seconds))
    return None


def pending(found: int, schema: str = "kairos") -> Iterator[Migration]:
    """What is still to be applied to a schema at version `found`."""
    refuse_newer(found)
    return (migration for migration in migrations(schema) if migration.version > found)


def check(found: int | None) -> None:
    """Raise unless a schema at version `found` is the one this code needs."""
    wanted = wanted_version()
    if not found:
        raise SchemaMismatch("The database has no Kairos schema yet: run `kairos migrate`.")
    refuse_newer(found)
    if found < wanted:
        raise SchemaMismatch(
            f"The schema is at version {found} and this Kairos needs {wanted}: run `kairos migrate`."
        )


def refuse_newer(found: int) -> None:
    wanted = wanted_version()
    if found > wanted:
        raise SchemaMismatch(
            f"The schema is at version {found}, newer than the {wanted} this Kairos knows: upgrade Kairos."
        )


def version_query(schema: str) -> tuple[str, str]:
    """Two statements: whether the bookkeeping table is there, and the version it records."""
    return f"select to_regclass('{schema}.migrations') is not null", _version(schema)


def _bookkeeping(schema: str) -> str:
    return f"""
        create schema if not exists {schema};
        create table if not exists {schema}.migrations (
            version int primary key, name text not null, applied_at timestamptz not null default now()
        )"""


def _version(schema: str) -> str:
    return f"select coalesce(max(version), 0) from {schema}.migrations"  # noqa: S608 (a checked name)


def _record(migration: Migration, schema: str) -> str:
    values = f"({migration.version}, '{migration.name}')"
    return f"insert into {schema}.migrations (version, name) values {values}"  # noqa: S608 (our own names)


def _keep_audit(schema: str, seconds: int) -> str:
    return f"""
        create or replace function {schema}.audit_retention() returns interval language sql immutable parallel safe
        as $$ select interval '{seconds} seconds' $$"""


def _blocker(schema: str) -> str:
    """Whose transaction is the oldest of those that have a table of the schema locked, in whatever way."""
    return f"""
        select a.pid, coalesce(nullif(a.application_name, ''), a.usename::text, '?') as who, coalesce(a.state, '?'),
          extract(epoch from clock_timestamp() - a.xact_start)::bigint, min(c.relname)
        from pg_locks l
        join pg_class c on c.oid = l.relation and c.relkind = 'r' and c.relnamespace = to_regnamespace('{schema}')
        join pg_stat_activity a on a.pid = l.pid
        where l.granted and l.database = (select d.oid from pg_database d where d.datname = current_database())
          and a.pid <> pg_backend_pid()
        group by a.pid, a.application_name, a.usename, a.state, a.xact_start
        order by a.xact_start limit 1"""  # noqa: S608 (a checked name)


def _blocked(applied: Sequence[str], holder: Sequence[Any] | None) -> MigrationBlocked:
    done = f"after {applied[-1]}" if applied else "and nothing was changed"
    if holder is None:
        return MigrationBlocked(
            f"The migration stopped, {done}: some other transaction kept its tables locked; look for it in "
            "pg_stat_activity, end it, and run `kairos migrate` again."
        )
    pid, who, state, seconds, table = holder
    age = "for a time unknown" if seconds is None else f"for {seconds} s"
    return MigrationBlocked(
        f"The migration stopped, {done}: other transactions kept its tables locked. The oldest that uses them is pid "
        f"{pid} ({who}, {state}), on {table}, open {age}; let it end, or end it with "
        f"`select pg_terminate_backend({pid})`, and run `kairos migrate` again."
    )
