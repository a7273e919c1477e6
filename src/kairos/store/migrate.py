"""Forward-only, numbered migrations, and the loud refusal when code and schema do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

import asyncpg
import psycopg

from kairos.errors import SchemaMismatch
from kairos.store.query import in_schema

# Two migrators at once: the second waits here and then finds nothing left to do.
_LOCK = 0x6B6169726F73


@dataclass(frozen=True, slots=True)
class Migration:
    version: int
    name: str
    sql: str


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


async def migrate(connection: asyncpg.Connection, schema: str = "kairos") -> list[str]:
    """Bring the schema up on a connection of its own; answers the names of what it applied."""
    async with connection.transaction():
        await connection.execute(f"select pg_advisory_xact_lock({_LOCK})")
        await connection.execute(_bookkeeping(schema))
        found = await connection.fetchval(_version(schema))
        applied = []
        for migration in pending(found, schema):
            await connection.execute(migration.sql)
            await connection.execute(_record(migration, schema))
            applied.append(migration.name)
        return applied


def migrate_sync(connection: psycopg.Connection, schema: str = "kairos") -> list[str]:
    """`migrate` over psycopg."""
    with connection.transaction():
        connection.execute(f"select pg_advisory_xact_lock({_LOCK})".encode())
        connection.execute(_bookkeeping(schema).encode())
        row = connection.execute(_version(schema).encode()).fetchone()
        applied = []
        for migration in pending(row[0] if row else 0, schema):
            connection.execute(migration.sql.encode())
            connection.execute(_record(migration, schema).encode())
            applied.append(migration.name)
        return applied


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
