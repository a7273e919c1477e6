"""Looking at alarms by hand, at a moment that stands still."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from tests.boundaries.moment import Moment

from kairos.alarms.thresholds import Thresholds
from kairos.store.query import drive
from kairos.verbs.alarms import Alarm, Look, acknowledge, alarms
from kairos.worker.watchman import look_now

MINUTE = timedelta(minutes=1)


class Watched(Moment):
    """`look()` is one whole look; `open()` what is raised and not cleared, by kind and subject."""

    def __init__(self, *made: Any) -> None:
        super().__init__(*made)
        self.thresholds = Thresholds()

    def let(self, **changes: Any) -> None:
        self.thresholds = replace(self.thresholds, **changes)

    async def look(self) -> Look:
        return await look_now(self.store, self.thresholds, decay=True, count=10**9)

    async def open(self) -> dict[tuple[str, str], Alarm]:
        found = await drive(alarms(), self.store.run)
        return {(each.kind, each.subject): each for each in found}

    async def raised(self, kind: str, subject: str) -> Alarm | None:
        """The alarm, once somebody has looked."""
        await self.look()
        return (await self.open()).get((kind, subject))

    async def acknowledge(self, alarm: Alarm, by: str = "ann") -> Alarm:
        return await drive(acknowledge(alarm.id, actor=by), self.store.run)

    async def present(self, name: str = "w1", **changes: Any) -> None:
        """A worker says that it is there, with nothing wrong unless told otherwise."""
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
        }
        await self.run("save_worker", name, *(row | changes).values())

    async def seen_at(self, instant: datetime, name: str = "w1") -> None:
        await self.fetch("update kairos.workers set seen_at = $1 where id = $2", instant, name)
