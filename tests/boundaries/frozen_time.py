"""A database whose time stands still, and the few things a boundary test does to it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.engine_statements import Hand, Rig

from kairos import Kairos
from kairos.store.query import Query
from kairos.testing import Clock

US = timedelta(microseconds=1)
SECOND = timedelta(seconds=1)
# One microsecond before, at, and after.
around = pytest.mark.parametrize("offset", [-US, 0 * US, US], ids=["before", "at", "after"])


class Moment(Rig):
    """`start` is the frozen instant; `at(...)` freezes another one, earlier or later."""

    def __init__(self, app: Kairos, clock: Clock, start: datetime) -> None:
        super().__init__(app.store)
        self.app = app
        self.clock = clock
        self.start = start

    async def at(self, instant: datetime) -> None:
        await self.clock.freeze(instant)

    async def ids(self, name: str, *params: Any) -> set[int]:
        """The jobs a statement answers with."""
        return {row["id"] for row in await self.run(name, *params)}

    async def would(self, name: str, *params: Any) -> set[int]:
        """The jobs a statement would take, without taking them."""
        async with self.store.connection() as connection:
            attempt = connection.transaction()
            await attempt.start()
            rows = await self.store.on(connection, Query(name, params))
            await attempt.rollback()
        return {row["id"] for row in rows}

    async def informed(self, name: str = "w1") -> Hand:
        """A worker that knows the limits of the queue."""
        hand = self.worker(name)
        await hand.picker.refresh()
        return hand

    async def state(self, job: int) -> str:
        return str((await self.app.get(job)).state)
