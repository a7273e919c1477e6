"""While the database is away, some loop of a worker tries often, and the others follow it as soon as it succeeds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.worker.world import until

from kairos.errors import DatabaseUnavailable
from kairos.worker import loop as loops
from kairos.worker.loop import Loop
from kairos.worker.outage import Outage


class Asking(Loop):
    """A loop that asks a database that may be away, and then waits as long as it can."""

    def __init__(self, name: str, outage: Outage) -> None:
        super().__init__()
        self.name = name
        self.outage = outage
        self.away = True
        self.asked = 0
        self.answered = 0

    async def tick(self) -> float:
        self.asked += 1
        if self.away:
            raise DatabaseUnavailable("Postgres cannot be reached: it is away.")
        self.answered += 1
        return 3600.0


@asynccontextmanager
async def running(*asking: Asking) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(each.run()) for each in asking]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that has failed waits longer than any test, unless it is told otherwise."""
    monkeypatch.setattr(loops, "backoff", lambda failures: 3600.0)


async def test_when_one_loop_reaches_the_database_again_the_others_do_not_wait_out_their_backoff(patient):
    outage = Outage()
    first, second = Asking("first", outage), Asking("second", outage)
    async with running(first, second):
        await until(lambda: first.asked and second.asked, "both failed")
        first.away = second.away = False
        first.wake()
        await until(lambda: second.answered, "the other loop's answer")
    assert not outage.is_open


async def test_while_the_database_is_away_some_loop_always_tries_soon(patient):
    outage = Outage()
    first, second = Asking("first", outage), Asking("second", outage)
    async with running(first, second):
        await until(lambda: first.asked + second.asked > 5, "several attempts")
        first.away = second.away = False
        await until(lambda: first.answered and second.answered, "the answers of both")


async def test_not_every_loop_tries_soon(patient):
    outage = Outage()
    asking = [Asking(str(n), outage) for n in range(8)]
    async with running(*asking):
        await until(lambda: sum(each.asked for each in asking) >= 16, "several attempts")
        assert len([each for each in asking if each.asked == 1]) >= 4
