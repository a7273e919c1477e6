from __future__ import annotations

import pytest

from kairos import Kairos


@pytest.fixture
def app(database: str) -> Kairos:
    """An app on a fresh database; a test declares its jobs on it and opens it."""
    return Kairos(database)
