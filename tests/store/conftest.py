"""What the tests of statements run on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from tests.engine_statements import Rig
from tests.shared_database import database, kept_database

from kairos.config import Settings
from kairos.store.async_store import AsyncStore
from kairos.testing.plugin import with_database

__all__ = ["database", "kept_database"]


@pytest.fixture
def connection(database: str) -> Iterator[psycopg.Connection[Any]]:
    """One transaction for the whole test; `connection.transaction()` is a savepoint in it."""
    with psycopg.connect(database) as connected:
        yield connected
        connected.rollback()


@pytest.fixture
async def jobs(database: str) -> AsyncIterator[Rig]:
    store = AsyncStore(database, Settings())
    await store.open()
    yield Rig(store)
    await store.close()


@pytest.fixture
def bare(kairos_admin: Any, kairos_server: str) -> Iterator[str]:
    """The URL of a database without a Kairos schema."""
    name = f"bare_{uuid4().hex[:12]}"
    kairos_admin.execute(f"create database {name} strategy wal_log")
    yield with_database(kairos_server, name)
    kairos_admin.execute(f"drop database {name} with (force)")
