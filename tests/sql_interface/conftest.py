"""An app whose actions are registered, and a role that may use the SQL interface and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from tests.shared_database import database, kept_database, quiet
from tests.sql_interface.actions import register
from tests.store.old_databases import ask

from kairos import Kairos, operations

__all__ = ["database", "kept_database", "quiet"]

Connection = psycopg.Connection[Any]


@pytest.fixture
async def app(database: str) -> AsyncIterator[Kairos]:
    async with Kairos(database) as app:
        register(app)
        await app.run(operations.register(app.registry))
        yield app


@pytest.fixture
def role(kairos_admin: Any, database: str) -> Iterator[str]:
    """A role that may log in, and was granted the interface."""
    name = f"Shop {uuid4().hex[:8]}"  # with a space and a capital: it has to be quoted
    kairos_admin.execute(f'create role "{name}" login'.encode())
    ask(database, f"select kairos.grant_client('{name}')")
    yield name
    ask(database, f'drop owned by "{name}"')
    kairos_admin.execute(f'drop role "{name}"'.encode())


@pytest.fixture
def shop(app: Kairos, database: str, role: str) -> Iterator[Connection]:
    """A connection of that role, each statement in its own transaction."""
    with psycopg.connect(
        database.replace("://kairos@", f"://{role.replace(' ', '%20')}@"), autocommit=True
    ) as connection:
        yield connection
