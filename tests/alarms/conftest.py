"""An app on an emptied database, and the alarms of it."""

from __future__ import annotations

import pytest
from tests.alarms.checking import Watched
from tests.shared_database import app, database, kept_database, quiet

from kairos import Kairos
from kairos.testing import Clock

__all__ = ["app", "database", "kept_database", "quiet"]


@pytest.fixture
async def watched(app: Kairos) -> Watched:
    """A database whose clock is frozen, and alarm checks that run when a test calls them."""
    clock = await Clock(app).install()
    return Watched(app, clock, await clock.freeze())
