"""Run the alarm checks by hand, at a frozen time."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from tests.boundaries.frozen_time import Moment

from kairos.alarms.thresholds import Thresholds
from kairos.operations.alarms import CheckResult, acknowledge, alarms
from kairos.shapes.alarm import Alarm
from kairos.store.query import drive
from kairos.worker.alarm_loop import run_checks

MINUTE = timedelta(minutes=1)


class Watched(Moment):
    """`check()` runs all checks once; `open()` returns the open alarms, by kind and subject."""

    def __init__(self, *made: Any) -> None:
        super().__init__(*made)
        self.thresholds = Thresholds()

    def let(self, **changes: Any) -> None:
        self.thresholds = replace(self.thresholds, **changes)

    async def check(self) -> CheckResult:
        return await run_checks(self.store, self.thresholds, slow=True, count=10**9)

    async def open(self) -> dict[tuple[str, str], Alarm]:
        found = await drive(alarms(), self.store.run)
        return {(each.kind, each.subject): each for each in found}

    async def raised(self, kind: str, subject: str) -> Alarm | None:
        """Run the checks, and return that alarm if it is open."""
        await self.check()
        return (await self.open()).get((kind, subject))

    async def acknowledge(self, alarm: Alarm, by: str = "ann") -> Alarm:
        return await drive(acknowledge(alarm.id, actor=by), self.store.run)

    async def present(self, name: str = "w1", **changes: Any) -> None:
        """Save the row of a healthy worker, with `changes`."""
        row: dict[str, Any] = {
            "host": "box",
            "pid": 1,
            "queues": ["default"],
            "actions": ["act"],
            "concurrency": 5,
            "stopping": False,
            "machines": ["act@1"],
            "unknown": [],
            "stale": 0,
            "skew": timedelta(0),
            "listening": True,
            "retention": timedelta(days=7),
            "blocked_by": None,
        }
        await self.run("save_worker", name, *(row | changes).values())

    async def seen_at(self, instant: datetime, name: str = "w1") -> None:
        await self.fetch("update kairos.workers set seen_at = $1 where id = $2", instant, name)
