"""Picks where reading the index from its beginning costs much: bounds keep them short, and no job is missed."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import asyncpg
import pytest
from tests.engine_statements import LEASE, Rig, done

from kairos.config import Settings
from kairos.store.async_store import AsyncStore
from kairos.store.query import Query
from kairos.worker import pick_bounds
from kairos.worker.pick_bounds import HORIZON, PickBounds

INSERT = """
insert into kairos.gen_durable (fsm, step, queue, priority, eligible_at, inserted_at, updated_at)
select 'act', 'run', 'default', {priority}, now() + {due}::interval, now(), now() from generate_series(1, {count}) as n
"""


@pytest.fixture
async def jobs(database: str) -> AsyncIterator[Rig]:
    store = AsyncStore(database, Settings())
    await store.open()
    yield Rig(store)
    await store.close()


async def blocks(jobs: Rig, name: str, *more: Any) -> int:
    """How many blocks a pick of ten looks at; it is rolled back."""
    params = ("default", 10, "w1", LEASE, False, None, None, *more)
    async with jobs.store.connection() as connection:
        attempt = connection.transaction()
        await attempt.start()
        explain = f"explain (analyze, buffers, costs off, timing off, format json) {jobs.store.sql[name]}"
        plan = json.loads(await connection.fetchval(explain, *params))[0]["Plan"]
        await attempt.rollback()
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


async def learned(jobs: Rig, clock: Callable[[], float] = time.monotonic) -> PickBounds:
    """The bounds of a picker whose last picks took a second each."""
    known = PickBounds(clock)
    known.record_full_pick(1.0, 0)
    known.learn(await jobs.store.run(Query("read_pick_bounds", ("default", HORIZON))))
    return known


async def bounds(jobs: Rig) -> tuple[list[int], list[int]]:
    known = await learned(jobs)
    return known.priorities, known.since


async def test_jobs_done_under_a_snapshot_that_stays_open_do_not_make_bounded_picks_longer(jobs, database):
    snapshot = await asyncpg.connect(database)
    try:
        await snapshot.execute(
            "begin isolation level repeatable read; select count(*) from kairos.gen_durable"
        )
        hand = jobs.worker()
        cost = {}
        for total in (200, 3000):
            await jobs.fetch(INSERT.format(priority=0, due="'-10 s'", count=total))
            while claims := await hand.pick(room=500):
                await hand.commit(*map(done, claims))
            await jobs.fetch(INSERT.format(priority=0, due="'-1 s'", count=10))
            cost[total] = await blocks(jobs, "pick_jobs_from", *(await bounds(jobs)))
            whole = await blocks(jobs, "pick_jobs")
            await hand.commit(*map(done, await hand.pick(room=500)))
        assert cost[3000] <= cost[200] + 20, (cost, whole)
        assert whole > cost[3000]
    finally:
        await snapshot.close()


async def test_twenty_thousand_priorities_with_nothing_due_do_not_make_bounded_picks_longer(jobs):
    await jobs.fetch(INSERT.format(priority=9, due="'0'", count=10))
    few = await blocks(jobs, "pick_jobs")
    await jobs.fetch(INSERT.format(priority="n - 20001", due="'1 day'", count=20_000))
    await jobs.fetch("analyze kairos.gen_durable")
    assert await blocks(jobs, "pick_jobs") > 20_000
    assert await blocks(jobs, "pick_jobs_from", *(await bounds(jobs))) <= few + 60


async def test_a_job_that_is_due_before_the_bounds_is_found_by_the_next_whole_pick(jobs):
    hand, clock = jobs.worker(), 100.0
    known = hand.picker.bounds["default"] = await learned(jobs, lambda: clock)
    assert known.seconds_left > 0
    await jobs.fetch(INSERT.format(priority=0, due="'-1 hour'", count=1))
    await jobs.fetch(INSERT.format(priority=7, due="'0'", count=1))
    now = await jobs.enqueue()
    assert [claim.id for claim in await hand.pick()] == [now]
    clock += pick_bounds.LONGEST
    assert len(await hand.pick()) == 2


async def test_a_picker_with_bounds_looks_again_at_everything_within_a_second(jobs):
    hand = jobs.worker()
    hand.picker.bounds["default"] = await learned(jobs)
    assert 0 < await hand.picker.tick() <= pick_bounds.LONGEST


def test_bounds_are_used_only_where_three_whole_picks_in_a_row_were_slow():
    now = 100.0
    known = PickBounds(lambda: now)
    assert [known.record_full_pick(seconds, 0) for seconds in (0.2, 0.001, 0.2, 0.3, 0.05)] == [False] * 4 + [
        True
    ]
    assert not PickBounds(lambda: now).record_full_pick(0.02, 200)
    known.learn([{"priority": 5, "since": 7}, {"priority": None, "since": 9}])
    assert (known.priorities, known.since) == ([0, 5], [9, 7])
    assert known.seconds_left == pytest.approx(0.5)
    now = 100.5
    assert known.seconds_left <= 0


def test_a_priority_that_had_work_is_read_for_a_minute():
    now = 100.0
    known = PickBounds(lambda: now)
    known.record_full_pick(1.0, 0)
    known.learn([{"priority": 5, "since": 7}, {"priority": None, "since": 9}])
    now = 130.0
    known.learn([{"priority": None, "since": 20}])
    assert (known.priorities, known.since) == ([0, 5], [20, 20])
    now = 161.0
    known.learn([{"priority": None, "since": 30}])
    assert (known.priorities, known.since) == ([0], [30])
