"""Picks where reading the index from its beginning costs much: bounds keep them short, and no job is missed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import asyncpg
import pytest
from tests.engine_statements import LEASE, Rig, done

from kairos.store.query import Query
from kairos.worker import pick_bounds
from kairos.worker.pick_bounds import HORIZON, PickBounds

INSERT = """
insert into kairos.gen_durable (fsm, step, queue, priority, eligible_at, inserted_at, updated_at)
select 'act', 'run', 'default', {priority}, now() + {due}::interval, now(), now() from generate_series(1, {count}) as n
"""


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


async def bounds(jobs: Rig) -> tuple[list[int], list[int], list[int]]:
    known = await learned(jobs)
    return known.priorities, known.since, known.ids


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


async def test_the_fourth_pick_of_a_backlog_is_a_bounded_one(jobs):
    await jobs.fetch(INSERT.format(priority=3, due="'-10 s'", count=500))
    hand, bounded = jobs.worker(), []
    for _ in range(4):
        assert len(await hand.pick(room=100)) == 100
        bounded.append(hand.picker.bounds["default"].priorities)
    assert bounded == [[], [], [0, 3], [0, 3]]


async def test_jobs_that_became_due_at_one_instant_are_claimed_under_a_snapshot_without_walking_over_each_other(
    jobs, database
):
    snapshot = await asyncpg.connect(database)
    try:
        await snapshot.execute(
            "begin isolation level repeatable read; select count(*) from kairos.gen_durable"
        )
        await jobs.fetch(INSERT.format(priority=0, due="'-10 s'", count=2000))
        hand = jobs.worker()
        known = hand.picker.bounds["default"] = await learned(jobs, lambda: 100.0)
        cost = []
        for _ in range(3):
            cost.append(await blocks(jobs, "pick_jobs_from", known.priorities, known.since, known.ids))
            assert len(await hand.pick(room=500)) == 500
        assert cost[2] <= cost[0] + 20
        assert await blocks(jobs, "pick_jobs") > cost[0] + 100
    finally:
        await snapshot.close()


def row(id_: int, due: int, **more: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "due": due,
        "lease": 1,
        "partition_key": None,
        "priority": None,
        "picked": 10_000_000,
    } | more


def from_the_beginning() -> PickBounds:
    known = PickBounds(lambda: 100.0)
    known.record_full_pick(1.0, 0)
    known.learn(
        [{"priority": each, "since": 1, "id": 0} for each in (0, 5)]
        + [{"priority": None, "since": 9, "id": 0}]
    )
    return known


def test_a_bounded_pick_begins_where_the_one_before_ended_in_each_priority():
    known = from_the_beginning()
    known.advance([row(7, 100), row(8, 200), row(3, 150, priority=5)])
    assert (known.since, known.ids) == ([200, 150], [8, 3])
    known.advance([])
    assert (known.since, known.ids) == ([200, 150], [8, 3])


@pytest.mark.parametrize(
    ("due", "start"), [(8_999_999, (8_999_999, 7)), (9_000_000, (9_000_000, 7)), (9_000_001, (9_000_000, 0))]
)
def test_a_bounded_pick_reads_the_last_second_again(due, start):
    known = from_the_beginning()
    known.advance([row(7, due)])
    assert (known.since[0], known.ids[0]) == start


def test_a_bounded_pick_meets_a_job_that_waits_for_its_key_again():
    known = from_the_beginning()
    known.advance([row(7, 100), row(8, 200, lease=None, partition_key="k"), row(9, 300)])
    assert (known.since[0], known.ids[0]) == (200, 8)
    known.advance([row(8, 200, lease=None), row(9, 300)])
    assert (known.since[0], known.ids[0]) == (300, 9)


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
    clock += known.seconds_left
    assert len(await hand.pick()) == 2


async def test_a_picker_with_bounds_looks_again_at_everything_when_they_end(jobs):
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
    known.learn([{"priority": 5, "since": 7, "id": 70}, {"priority": None, "since": 9, "id": 0}])
    assert (known.priorities, known.since, known.ids) == ([0, 5], [9, 7], [0, 70])
    assert known.seconds_left == pytest.approx(1.0)
    now = 101.0
    assert known.seconds_left <= 0


def test_bounds_are_used_where_three_full_picks_in_a_row_met_a_backlog_however_quick_they_were():
    known = PickBounds(lambda: 100.0)
    assert [known.record_full_pick(0.003, rows) for rows in (100, 99, 100, 400, 100)] == [False] * 4 + [True]
    known.learn([{"priority": None, "since": 1, "id": 0}])
    assert known.seconds_left == pytest.approx(0.06)


def test_a_full_pick_renews_the_bounds_unless_it_met_a_new_priority_or_they_are_a_minute_old():
    now = 100.0
    known = PickBounds(lambda: now)
    known.record_full_pick(0.2, 0)
    assert not known.renew([])
    known.learn([{"priority": 5, "since": 1, "id": 0}, {"priority": None, "since": 1, "id": 0}])
    now = 104.0
    assert known.seconds_left <= 0
    assert known.renew([row(7, 100, priority=5)])
    assert (known.since, known.ids) == ([1, 100], [0, 7])
    assert known.seconds_left == pytest.approx(4.0)
    assert not known.renew([row(8, 100, priority=6)])
    now = 159.999
    assert known.renew([])
    now = 160.0
    assert not known.renew([])


def test_bounds_are_used_for_twenty_times_as_long_as_a_full_pick_takes_and_ten_seconds_at_most():
    for cost, used in ((0.02, 0.4), (0.25, 5.0), (0.5, 10.0), (2.0, 10.0)):
        known = PickBounds(lambda: 100.0)
        known.record_full_pick(cost, 0)
        known.learn([{"priority": None, "since": 1, "id": 0}])
        assert known.seconds_left == pytest.approx(used)


def test_a_priority_that_had_work_is_read_for_a_minute():
    now = 100.0
    known = PickBounds(lambda: now)
    known.record_full_pick(1.0, 0)
    known.learn([{"priority": 5, "since": 7, "id": 70}, {"priority": None, "since": 9, "id": 0}])
    now = 130.0
    known.learn([{"priority": None, "since": 20, "id": 0}])
    assert (known.priorities, known.since) == ([0, 5], [20, 20])
    now = 161.0
    known.learn([{"priority": None, "since": 30, "id": 0}])
    assert (known.priorities, known.since) == ([0], [30])
