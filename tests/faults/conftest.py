from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.faults.crew import Crew

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
