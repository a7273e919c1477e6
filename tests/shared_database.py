"""One database for the tests of a folder, emptied before each: a fresh copy for each of hundreds costs minutes.

A folder's conftest imports `kept_database` and `database`; the latter then stands for the one of tests/conftest.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from tests.captured_logs import capture_logs

from kairos import Kairos
from kairos.testing.plugin import with_database

# As a replica would apply it: no trigger has a say, and what is append-only is emptied too.
_EMPTY = """
set session_replication_role = replica;
do $$
declare
  name text;
begin
  for name in
    select tablename from pg_tables where schemaname = 'kairos' and tablename <> all (
    '{migrations,migration_steps,guards,runtime_roles,clock}')
  loop
    execute format('delete from kairos.%I', name);
  end loop;
end
$$;
"""
# A statement of the test before may still run after its client has gone, and would lock rows against the emptying.
# pg_terminate_backend itself waits in steps of 0.1 s.
_END_OTHERS = """
do $$
begin
  loop
    perform pg_stat_clear_snapshot();
    perform pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid();
    exit when not found;
    perform pg_sleep(0.002);
  end loop;
end
$$;
"""
_REAL_TIME = """
create or replace function kairos.now() returns timestamptz language sql stable parallel safe
  as $$ select statement_timestamp() $$;
drop table kairos.clock;
"""


def unguarded(sql: str) -> str:
    """One statement that runs others as a replica would apply them: no trigger fires, the guard's included."""
    return f"do $$ begin perform set_config('session_replication_role', 'replica', true); {sql}; end $$"


@pytest.fixture(scope="session")
def kept_database(kairos_admin: Any, kairos_server: str, kairos_template: str) -> Iterator[str]:
    """The URL of this folder's database."""
    with migrated_database(kairos_admin, kairos_server, kairos_template) as url:
        yield url


@contextmanager
def migrated_database(admin: Any, server: str, template: str) -> Iterator[str]:
    """The URL of a copy of the template for as long as the block lasts."""
    name = f"kept_{uuid4().hex[:12]}"
    admin.execute(f"create database {name} template {template} strategy wal_log")
    yield with_database(server, name)
    admin.execute(f"drop database {name} with (force)")


@pytest.fixture
def database(kept_database: str) -> str:
    """The URL of a migrated database with no jobs in it and its clock set right."""
    with psycopg.connect(kept_database, autocommit=True) as connection:
        connection.execute(_END_OTHERS)
        connection.execute(_EMPTY)
        row = connection.execute("select to_regclass('kairos.clock') is not null").fetchone()
        if row is not None and row[0]:
            connection.execute(_REAL_TIME)
    return kept_database


@pytest.fixture
async def app(database: str) -> AsyncIterator[Kairos]:
    """An app on that database."""
    async with Kairos(database) as app:
        yield app


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Steps fail on purpose here: what they say about it is kept out of sight, and costs no formatting."""
    with capture_logs():
        yield
