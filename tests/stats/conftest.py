"""An app on an emptied database, at a moment that stands still, and whoever counts."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.boundaries.frozen_time import Moment
from tests.shared_database import database, kept_database, quiet

from kairos import Kairos
from kairos.testing import Clock

__all__ = ["database", "kept_database", "quiet"]


@pytest.fixture
async def app(database: str) -> AsyncIterator[Kairos]:
    async with Kairos(database, pool_size=20) as app:
        yield app


@pytest.fixture
async def moment(app: Kairos) -> Moment:
    clock = await Clock(app).install()
    return Moment(app, clock, await clock.freeze())
