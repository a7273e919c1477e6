from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.rig import Rig, rig


@pytest.fixture
async def jobs(database: str) -> AsyncIterator[Rig]:
    async with rig(database) as made:
        yield made
