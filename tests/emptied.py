"""One database for the tests of a folder, emptied before each: a fresh copy for each of hundreds costs minutes.

A folder's conftest imports `kept_database` and `database`; the latter then stands for the one of tests/conftest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import structlog.testing

from kairos.testing.plugin import with_database

# As a replica would apply it: no trigger has a say, and what is append-only is emptied too.
_EMPTY = """
set session_replication_role = replica;
do $$
declare
  name text;
begin
  for name in
    select tablename from pg_tables where schemaname = 'kairos' and tablename not in ('migrations', 'clock')
  loop
    execute format('delete from kairos.%I', name);
  end loop;
end
$$;
"""
_REAL_TIME = """
create or replace function kairos.now() returns timestamptz language sql stable parallel safe
  as $$ select pg_catalog.now() $$;
drop table kairos.clock;
"""


@pytest.fixture(scope="session")
def kept_database(kairos_admin: Any, kairos_server: str, kairos_template: str) -> Iterator[str]:
    """The URL of this folder's database."""
    name = f"kept_{uuid4().hex[:12]}"
    kairos_admin.execute(f"create database {name} template {kairos_template} strategy wal_log")
    yield with_database(kairos_server, name)
    kairos_admin.execute(f"drop database {name} with (force)")


@pytest.fixture
def database(kept_database: str) -> str:
    """The URL of a migrated database with no jobs in it and its clock set right."""
    with psycopg.connect(kept_database, autocommit=True) as connection:
        connection.execute(_EMPTY)
        row = connection.execute("select to_regclass('kairos.clock') is not null").fetchone()
        if row is not None and row[0]:
            connection.execute(_REAL_TIME)
    return kept_database


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Steps fail on purpose here: what they say about it is kept out of sight, and costs no formatting."""
    with structlog.testing.capture_logs():
        yield
