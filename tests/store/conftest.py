"""A connection whose work is undone after the test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from tests.emptied import database, kept_database

__all__ = ["database", "kept_database"]


@pytest.fixture
def connection(database: str) -> Iterator[psycopg.Connection[Any]]:
    """One transaction for the whole test; `connection.transaction()` is a savepoint in it."""
    with psycopg.connect(database) as connected:
        yield connected
        connected.rollback()
