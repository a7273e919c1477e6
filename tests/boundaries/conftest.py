"""An app on an emptied database, at a moment that stands still."""

from __future__ import annotations

import pytest
from tests.boundaries.frozen_time import Moment
from tests.shared_database import app, database, kept_database, quiet

from kairos import Kairos
from kairos.testing import Clock

__all__ = ["app", "database", "kept_database", "quiet"]


@pytest.fixture
async def moment(app: Kairos) -> Moment:
    clock = await Clock(app).install()
    return Moment(app, clock, await clock.freeze())
