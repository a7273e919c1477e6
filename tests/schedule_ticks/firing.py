"""One schedule, `report`, its ticks decided, and what became of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kairos.worker.ticker import Ticker

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
MICROSECOND = timedelta(microseconds=1)


async def add(app, when="every minute", **options):
    return await app.schedules.add("report", when, app.report.call(), **options)


async def fire_all(app) -> None:
    ticker = Ticker(app.store)
    while await ticker.fire():
        pass


async def outcome(app, name="report") -> tuple[int, int]:
    ticks = await app.schedules.ticks(name, limit=10_000)
    return sum(t.job_id is not None for t in ticks), sum(t.job_id is None for t in ticks)
