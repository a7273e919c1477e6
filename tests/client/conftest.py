"""Apps on an emptied database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from tests.client.actions import register
from tests.shared_database import database, kept_database, quiet

from kairos import Kairos, SyncKairos

__all__ = ["database", "kept_database", "quiet"]


@pytest.fixture
async def app(database: str) -> AsyncIterator[Kairos]:
    async with Kairos(database) as app:
        register(app)
        yield app


@pytest.fixture
def sync_app(database: str) -> Iterator[SyncKairos]:
    with SyncKairos(database) as app:
        register(app)
        yield app
