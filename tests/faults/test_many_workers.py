"""Many workers on one database: no job is claimed twice, and after a restart they do not come back all at once."""

from __future__ import annotations

import random

import pytest
from bench.many_workers import measure
from tests.worker.world import until

from kairos.store import async_connections
from kairos.store.async_connections import AsyncConnections
from kairos.worker.loop import backoff


@pytest.mark.timeout(300)
def test_workers_that_share_a_queue_and_outlive_a_restart_claim_no_job_twice():
    seen = measure(workers=6, processes=2, seconds=2.0, jobs=1000)
    assert (seen["done"], seen["claimed more than once"]) == (1000, 0)
    assert seen["connections after the restart"] >= 12
    assert seen["picks"] >= seen["picks that claimed nothing"] > 0


def test_the_loops_of_two_hundred_workers_come_back_spread_over_seconds():
    random.seed(7)
    loops = 200 * 12  # each finds Postgres away at the same instant, five times in a row
    returns = [sum(backoff(failures) for failures in range(1, 6)) for _ in range(loops)]
    tenths = [int(each * 10) for each in returns]
    assert max(returns) - min(returns) > 3
    assert max(tenths.count(tenth) for tenth in set(tenths)) < loops / 10


async def test_a_pool_closes_the_connections_that_a_burst_left_behind(database, monkeypatch):
    monkeypatch.setattr(async_connections, "UNUSED_TIMEOUT", 0.3)
    from kairos import Kairos

    app = Kairos(database)
    async with app:
        connections: AsyncConnections = app.store.connections
        async with connections.acquire(), connections.acquire(), connections.acquire(), connections.acquire():
            assert connections.open_connections >= 4
        await until(lambda: connections.open_connections <= 1)
