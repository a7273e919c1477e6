from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.emptied import database, kept_database, quiet
from tests.rig import Rig, rig

__all__ = ["database", "kept_database", "quiet"]


@pytest.fixture
async def jobs(database: str) -> AsyncIterator[Rig]:
    async with rig(database) as made:
        yield made
