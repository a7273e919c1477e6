"""An app with one action, on a clock that stands at noon."""

from __future__ import annotations

import pytest
from tests.schedule_ticks.firing import NOON

from kairos import Context, Kairos
from kairos.testing import Clock


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
