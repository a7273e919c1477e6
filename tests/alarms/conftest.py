"""An app on an emptied database, and the alarms of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.alarms.watching import Watched
from tests.emptied import database, kept_database, quiet

from kairos import Kairos
from kairos.testing import Clock

__all__ = ["database", "kept_database", "quiet"]


@pytest.fixture
async def app(database: str) -> AsyncIterator[Kairos]:
    async with Kairos(database) as app:
        yield app


@pytest.fixture
async def watched(app: Kairos) -> Watched:
    """A database whose time stands still, and a watchman that looks when it is told."""
    clock = await Clock(app).install()
    return Watched(app, clock, await clock.freeze())
