"""The TTL: picked strictly before it closes, expired from that microsecond on, never both and never neither."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from tests.boundaries.frozen_time import SECOND, US, Moment, around
from tests.engine_statements import go, park, replay

from kairos import Backoff, Kairos
from kairos.testing import drain

OFFSETS = (-US, 0 * US, US)


@pytest.mark.parametrize("key", [None, "k"])
async def test_a_live_job_is_pickable_or_expirable_and_never_both(moment: Moment, key: str | None) -> None:
    """Over every way in which its time and its end can lie around now."""
    jobs = {}
    for due, end in product(OFFSETS, OFFSETS):
        name = None if key is None else f"{key} {due} {end}"
        job = await moment.enqueue(run_at=moment.start + due, expires_at=moment.start + end, key=name)
        jobs[job] = (due, end)
    expirable = await moment.would("expire_jobs", 100, None, [])
    pickable = {claim.id for claim in await moment.worker().pick()}
    assert expirable == {job for job, (_, end) in jobs.items() if end <= 0 * US}
    assert pickable == {job for job, (due, end) in jobs.items() if due <= 0 * US < end}
    assert not pickable & expirable
    assert {job for job, (due, _) in jobs.items() if due <= 0 * US} <= pickable | expirable


@around
async def test_a_job_runs_until_its_ttl_closes_and_expires_from_then_on(
    moment: Moment, offset: timedelta
) -> None:
    ran: list[int] = []
    moment.app.job(name="act", ttl="10s")(lambda: ran.append(1))
    job = await moment.app.action("act").options(delay=5).enqueue()
    assert job.expires_at == moment.start + 15 * SECOND
    await moment.at(job.expires_at + offset)
    await drain(moment.app)
    ended = await moment.app.get(job.id)
    if offset < 0 * US:
        assert (ended.state, ran) == ("success", [1])
    else:
        assert (ended.state, ended.error_code, ran) == ("expired", "EXPIRED", [])
        assert ended.completed_at == moment.start + 15 * SECOND + offset
        assert ended.started_at is None
        assert [row.verb for row in await moment.app.history(job.id)] == ["expire"]


@pytest.mark.parametrize(
    ("options", "lives"),
    [
        ({}, 60 * SECOND),
        ({"ttl": 5}, 5 * SECOND),
        ({"ttl": "1us"}, US),
        ({"ttl": 0}, 0 * SECOND),
        ({"delay": 7}, 67 * SECOND),
        ({"delay": 7, "ttl": 5}, 12 * SECOND),
    ],
    ids=str,
)
async def test_a_ttl_counts_from_the_moment_the_job_is_due(
    moment: Moment, options: dict[str, Any], lives: timedelta
) -> None:
    moment.app.job(name="act", ttl="1m")(lambda: None)
    job = await moment.app.action("act").options(**options).enqueue()
    assert job.expires_at == moment.start + lives
    assert (await moment.app.get(job.id)).expires_at == job.expires_at


async def test_an_absolute_end_stands_as_it_is_given(moment: Moment) -> None:
    moment.app.job(name="act", ttl="1m")(lambda: None)
    job = await moment.app.action("act").options(delay=7, expires_at=moment.start + SECOND).enqueue()
    assert (await moment.app.get(job.id)).expires_at == moment.start + SECOND


async def test_a_job_without_a_ttl_never_expires(moment: Moment) -> None:
    job = await moment.enqueue()
    await moment.at(moment.start + timedelta(days=36500))
    assert await moment.ids("expire_jobs", 100, None, []) == set()
    assert [claim.id for claim in await moment.worker().pick()] == [job]


@around
async def test_a_retry_does_not_move_the_end(moment: Moment, offset: timedelta) -> None:
    app: Kairos = moment.app

    @app.job(retry=Backoff(attempts=9, base=10, jitter=0, factor=1), ttl=10)
    async def act() -> None:
        raise ValueError("no")

    job = await act.enqueue()
    assert await drain(app) == 1
    retried = await app.get(job.id)
    assert (retried.run_at, retried.expires_at) == (moment.start + 10 * SECOND, moment.start + 10 * SECOND)
    await moment.at(moment.start + 10 * SECOND + offset)
    await drain(app)
    assert await moment.state(job.id) == ("scheduled" if offset < 0 * US else "expired")


async def test_a_job_expires_only_while_it_waits_for_a_worker(moment: Moment) -> None:
    """What runs or waits for a signal is past its TTL's reach; back in line it is not."""
    hand = moment.worker()
    running, waiting = await moment.enqueue(ttl=1), await moment.enqueue(ttl=1)
    claims = {claim.id: claim for claim in await hand.pick()}
    await hand.commit(park(claims[waiting], "paid"))
    await moment.at(moment.start + 2 * SECOND)
    assert await moment.ids("expire_jobs", 100, None, []) == set()
    await hand.commit(replay(claims[running]))
    assert await moment.ids("expire_jobs", 100, None, []) == {running}
    assert await moment.app.signal(waiting, "paid") == "woke"
    assert await moment.ids("expire_jobs", 100, None, []) == {waiting}


@around
async def test_a_claim_runs_ahead_only_while_the_ttl_is_open(moment: Moment, offset: timedelta) -> None:
    hand = moment.worker()
    job = await moment.enqueue(ttl=1)
    (claim,) = await hand.pick()
    await moment.at(moment.start + SECOND + offset)
    assert await hand.commit(go(claim, ahead=True)) == 1
    assert await moment.status(job) == ("executing" if offset < 0 * US else "runnable")
    assert bool(await moment.ids("expire_jobs", 100, None, [])) == (offset >= 0 * US)


@around
async def test_a_job_whose_ttl_closed_does_not_stand_in_the_way_of_its_key(
    moment: Moment, offset: timedelta
) -> None:
    first, second = await moment.enqueue(key="k", ttl=1), await moment.enqueue(key="k")
    await moment.at(moment.start + SECOND + offset)
    await moment.run("wait_for_key_locks", ["k"])
    await moment.run("open_keys", ["k"])  # whose turn is it, before anybody has swept up the first
    assert [claim.id for claim in await moment.worker().pick()] == [first if offset < 0 * US else second]


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4])
async def test_no_more_expire_at_once_than_asked(moment: Moment, limit: int) -> None:
    for _ in range(3):
        await moment.enqueue(ttl=0)
    assert len(await moment.ids("expire_jobs", limit, None, [])) == min(limit, 3)
