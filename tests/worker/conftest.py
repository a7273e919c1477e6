from __future__ import annotations

import pytest
from tests.shared_database import database, kept_database

from kairos import Kairos

__all__ = ["database", "kept_database"]


@pytest.fixture
def app(database: str) -> Kairos:
    """An app on an emptied database; a test declares its jobs on it and opens it."""
    return Kairos(database)
