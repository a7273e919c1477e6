from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.engine_statements import Rig, rig
from tests.shared_database import database, kept_database, quiet

__all__ = ["database", "kept_database", "quiet"]


@pytest.fixture
async def jobs(database: str) -> AsyncIterator[Rig]:
    async with rig(database) as made:
        yield made
