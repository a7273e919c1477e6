from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.faults.proxy import Proxy
from tests.faults.worker_processes import Crew

from kairos import Kairos


@pytest.fixture
async def crew(database: str, tmp_path: Path) -> AsyncIterator[Crew]:
    """Workers to be hired, with the app open to enqueue through."""
    crew = Crew(database, tmp_path)
    async with crew.app:
        try:
            yield crew
        finally:
            crew.dismiss()


@pytest.fixture
def app(crew: Crew) -> Kairos:
    return crew.app


@pytest.fixture
async def proxy(database: str) -> AsyncIterator[Proxy]:
    """The way to the database that a test disturbs."""
    async with Proxy(database) as proxy:
        yield proxy


@pytest.fixture
async def direct(database: str) -> AsyncIterator[Kairos]:
    """The same database by a way that nothing disturbs, to look and to enqueue."""
    async with Kairos(database) as app:
        yield app
