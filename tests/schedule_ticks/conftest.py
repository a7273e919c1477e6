"""An app with one action, on a clock that stands at noon."""

from __future__ import annotations

import pytest
from tests.schedule_ticks.firing import NOON
from tests.shared_database import database, kept_database

from kairos import Context, Kairos
from kairos.testing import Clock

__all__ = ["database", "kept_database"]


@pytest.fixture
async def app(database):
    app = Kairos(database)

    @app.job
    async def report(ctx: Context, day: str = "today") -> str:
        return day

    async with app:
        app.report = report
        app.clock = await Clock(app).install()
        await app.clock.freeze(NOON)
        yield app
