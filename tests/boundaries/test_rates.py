"""Limits of a queue and of a key: the burst, one more than the burst, and the instant of the refill."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.boundaries.frozen_time import SECOND, US, Moment
from tests.engine_statements import done

RATES = [(1, 1), (3, 30), (2, 1), (10, 60), (3, 1), (6, 1), (7, 1), (400, 7)]
rates = pytest.mark.parametrize(("count", "seconds"), RATES)


async def starts(moment: Moment, room: int = 100, order: list[int] | None = None) -> int:
    """How many jobs start now, `room` at a time and each finished at once, for as long as there may be more."""
    await moment.sweep()
    hand, total, more = moment.worker(), 0, True
    while more:
        await hand.picker.refresh()
        more = await hand.picker.pick("default", room)
        total += await hand.commit(*map(done, hand.claims)) if hand.claims else 0
        if order is not None:
            order += [claim.id for claim in hand.claims]
        hand.claims.clear()
    return total


async def fill(moment: Moment, jobs: int, key: str | None = None) -> list[int]:
    return [job.id for job in await moment.enqueue_many(*[{"key": key} if key else {}] * jobs)]


@rates
async def test_a_full_queue_lets_its_whole_burst_start_and_not_one_more(
    moment: Moment, count: int, seconds: int
) -> None:
    await moment.app.limit("default", rate=(count, seconds))
    await fill(moment, count + 2)
    assert await starts(moment, room=count + 2) == count
    assert await starts(moment) == 0


@pytest.mark.parametrize(("count", "seconds"), [rate for rate in RATES if rate[0] <= 10])
async def test_a_burst_taken_one_by_one_is_as_large(moment: Moment, count: int, seconds: int) -> None:
    await moment.app.limit("default", rate=(count, seconds))
    await fill(moment, count + 2)
    assert await starts(moment, room=1) == count


@pytest.mark.parametrize(("count", "seconds"), [(1, 1), (3, 30), (2, 1), (10, 60)])
async def test_one_more_may_start_at_the_very_instant_of_the_refill(
    moment: Moment, count: int, seconds: int
) -> None:
    await moment.app.limit("default", rate=(count, seconds))
    await fill(moment, count + 5)
    assert await starts(moment) == count
    refill = timedelta(seconds=seconds) / count
    for turn in (1, 2, 3):
        await moment.at(moment.start + turn * refill - US)
        assert await starts(moment) == 0
        await moment.at(moment.start + turn * refill)
        assert await starts(moment) == 1


@rates
async def test_after_a_whole_period_of_rest_the_burst_is_full_again_and_never_fuller(
    moment: Moment, count: int, seconds: int
) -> None:
    await moment.app.limit("default", rate=(count, seconds))
    await fill(moment, 2 * count + 2)
    assert await starts(moment, room=2 * count + 2) == count
    await moment.at(moment.start + 10 * seconds * SECOND)
    assert await starts(moment, room=2 * count + 2) == count


@pytest.mark.parametrize(("count", "seconds"), [(1, 1), (3, 30), (2, 1), (3, 1), (6, 1), (7, 1)])
async def test_a_key_has_a_rate_of_its_own(moment: Moment, count: int, seconds: int) -> None:
    await moment.app.limit("default", key_rate=(count, seconds))
    await fill(moment, count + 2, "a")
    await fill(moment, 1, "b")
    refill = timedelta(seconds=seconds) / count
    assert await starts(moment, room=1) == count + 1
    await moment.at(moment.start + refill - 10 * US)
    assert await starts(moment, room=1) == 0
    await moment.at(moment.start + refill + 10 * US)
    assert await starts(moment, room=1) == 1


@pytest.mark.parametrize(("count", "seconds"), [(1, 1), (3, 30), (2, 1)])
async def test_a_key_may_start_again_at_the_very_instant_of_its_refill(
    moment: Moment, count: int, seconds: int
) -> None:
    await moment.app.limit("default", key_rate=(count, seconds))
    await fill(moment, count + 2, "a")
    assert await starts(moment, room=1) == count
    refill = timedelta(seconds=seconds) / count
    for turn in (1, 2):
        await moment.at(moment.start + turn * refill - US)
        assert await starts(moment, room=1) == 0
        await moment.at(moment.start + turn * refill)
        assert await starts(moment, room=1) == 1


async def test_a_key_over_its_rate_keeps_its_order_and_its_times(moment: Moment) -> None:
    await moment.app.limit("default", key_rate=(1, 1))
    jobs, order = await fill(moment, 5, "a"), []
    for turn in range(5):
        await moment.at(moment.start + turn * SECOND)
        for _ in range(3):  # the second time it is over its rate
            await starts(moment, order=order)
        assert order == jobs[: turn + 1]
    assert {(await moment.row(job))["eligible_at"] for job in jobs} == {moment.start}


@pytest.mark.parametrize("count", [1, 2, 3])
async def test_a_key_with_several_places_still_starts_no_more_than_its_rate(
    moment: Moment, count: int
) -> None:
    await moment.app.limit("default", key_rate=(count, 1), key_concurrency=5)
    await moment.enqueue_many(*[{"key": "a", "delay": 1}] * 5)  # none is on hold behind another
    await moment.at(moment.start + SECOND)
    assert await starts(moment) == count
    await moment.at(moment.start + 2 * SECOND)
    assert await starts(moment) == min(count, 5 - count)


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_no_more_run_at_once_than_a_queue_allows_over_all_workers(moment: Moment, limit: int) -> None:
    await moment.app.limit("default", concurrency=limit)
    await fill(moment, limit + 2)
    first, second = await moment.informed("w1"), await moment.informed("w2")
    claims = await first.pick(room=limit - 1)
    claims += await second.pick()
    assert len(claims) == limit
    assert await first.pick() == []
    owner = second if len(claims) == limit and second.claims else first
    assert await owner.commit(done(claims[-1])) == 1
    assert len(await first.pick()) == 1


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_no_more_run_at_once_of_a_key_than_its_queue_allows(moment: Moment, limit: int) -> None:
    await moment.app.limit("default", key_concurrency=limit)
    await fill(moment, limit + 2, "a")
    hand = await moment.informed()
    running = 0
    while claims := await hand.pick():
        running += len(claims)
    assert running == limit


async def test_a_lifted_limit_limits_no_more(moment: Moment) -> None:
    await moment.app.limit("default", rate=(1, 3600), concurrency=1)
    await fill(moment, 5)
    assert await starts(moment) == 1
    await moment.app.limit("default")
    assert await starts(moment) == 4


async def test_a_raised_rate_keeps_no_debt_of_the_slower_one(moment: Moment) -> None:
    await moment.app.limit("default", rate=(1, 3600))
    await fill(moment, 5)
    assert await starts(moment) == 1
    await moment.app.limit("default", rate=(2, 1))
    assert await starts(moment) == 0  # one second's worth is owed at most
    await moment.at(moment.start + SECOND / 2 - US)
    assert await starts(moment) == 0
    await moment.at(moment.start + SECOND / 2)
    assert await starts(moment) == 1
    await moment.at(moment.start + 2 * SECOND)
    assert await starts(moment) == 2


async def test_a_raised_rate_per_key_keeps_no_debt_of_the_slower_one(moment: Moment) -> None:
    await moment.app.limit("default", key_rate=(1, 3600))
    await fill(moment, 5, "a")
    assert await starts(moment, room=1) == 1
    await moment.app.limit("default", key_rate=(2, 1))
    await moment.at(moment.start + SECOND / 2 - US)
    assert await starts(moment, room=1) == 0
    await moment.at(moment.start + SECOND / 2)
    assert await starts(moment, room=1) == 1
    await moment.at(moment.start + 2 * SECOND)
    assert await starts(moment, room=1) == 2
