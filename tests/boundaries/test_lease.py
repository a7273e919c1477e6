"""The lease: reaped from the microsecond it expires, and renewed until it is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.boundaries.frozen_time import SECOND, US, Moment, around
from tests.engine_statements import LEASE, done, go, park, replay

REAP = ("reap_jobs", 100, None, "reaper", None, [])


@around
async def test_a_lease_is_reapable_once_it_expired_and_renewable_until_it_is_reaped(
    moment: Moment, offset: timedelta
) -> None:
    job = await moment.enqueue()
    (claim,) = await moment.worker().pick()
    await moment.at(moment.start + LEASE + offset)
    expired = offset >= 0 * US
    assert await moment.would(*REAP) == ({job} if expired else set())
    (answer,) = await moment.run("renew_leases", [job], [claim.lease], LEASE, "w1")
    assert (answer["id"], answer["lost"]) == (job, False)
    assert (await moment.row(job))["lease_expires_at"] == moment.start + LEASE + offset + LEASE
    assert await moment.ids(*REAP) == set()


@around
async def test_the_sweeper_reaps_at_the_instant_the_lease_expires(moment: Moment, offset: timedelta) -> None:
    job = await moment.enqueue()
    await moment.worker().pick()
    await moment.at(moment.start + LEASE + offset)
    await moment.sweep()
    assert await moment.status(job) == ("executing" if offset < 0 * US else "runnable")


async def test_a_reaped_lease_cannot_be_renewed_or_used(moment: Moment) -> None:
    hand, job = moment.worker(), await moment.enqueue()
    (claim,) = await hand.pick()
    await moment.at(moment.start + LEASE)
    await moment.run(*REAP)
    (answer,) = await moment.run("renew_leases", [job], [claim.lease], LEASE, "w1")
    assert answer["lost"]
    assert await hand.commit(done(claim)) == 0
    assert await moment.status(job) == "runnable"


async def test_of_several_leases_only_the_lost_ones_are_told(moment: Moment) -> None:
    hand = moment.worker()
    jobs = [await moment.enqueue() for _ in range(4)]
    claims = await hand.pick()
    await hand.commit(done(claims[0]))
    leases = [claim.lease for claim in claims[:2]] + [claims[2].lease - 1, claims[3].lease]
    rows = await moment.run("renew_leases", [*jobs, 10**12], [*leases, 1], 2 * LEASE, "w1")
    assert {row["id"]: row["lost"] for row in rows} == dict(
        zip([*jobs, 10**12], [True, False, True, False, True], strict=True)
    )
    (cancelled,) = [row["cancel_requested"] for row in rows if row["id"] == jobs[1]]
    assert not cancelled


async def test_a_renewal_carries_the_request_to_cancel(moment: Moment) -> None:
    job = await moment.enqueue()
    (claim,) = await moment.worker().pick()
    await moment.app.cancel(job)
    (answer,) = await moment.run("renew_leases", [job], [claim.lease], LEASE, "w1")
    assert (answer["lost"], answer["cancel_requested"]) == (False, True)


async def test_a_lease_is_renewed_and_told_of_only_by_its_holder(moment: Moment) -> None:
    """A claim that a crash of Postgres forgot may give the same token to another worker."""
    job = await moment.enqueue()
    (claim,) = await moment.worker("heir").pick()
    until = (await moment.row(job))["lease_expires_at"]
    (answer,) = await moment.run("renew_leases", [job], [claim.lease], 2 * LEASE, "zombie")
    assert answer["lost"]
    assert (await moment.row(job))["lease_expires_at"] == until
    assert await moment.run("report_progress", [job], [claim.lease], ['{"done": 1}'], "zombie") == []
    assert (await moment.row(job))["progress"] is None
    assert await moment.run("report_progress", [job], [claim.lease], ['{"done": 2}'], "heir") == []
    assert (await moment.row(job))["progress"] == '{"done": 2}'


@pytest.mark.parametrize("allowed", [0, 1, 2])
async def test_a_job_that_loses_its_worker_once_too_often_is_stopped_loudly(
    moment: Moment, allowed: int
) -> None:
    job = await moment.enqueue(max_reaps=allowed)
    hand, now = moment.worker(), moment.start
    for loss in range(1, allowed + 2):
        (claim,) = await hand.pick()
        assert claim.attempt == loss - 1
        await moment.run("mark_alone", job, claim.lease, "w1", True)
        now += LEASE
        await moment.at(now)
        await moment.run(*REAP)
        lost = await moment.app.get(job)
        assert (lost.state, lost.reaps) == ("pending" if loss <= allowed else "failed", loss)
    assert (lost.error_code, lost.completed_at) == ("WORKER_LOST", now)
    assert await moment.verbs_of(job) == ["reap"] * allowed + ["stop"]
    assert await hand.pick() == []


async def test_a_job_that_was_lost_in_company_is_not_held_guilty_until_it_is_lost_four_times_as_often(
    moment: Moment,
) -> None:
    job, allowed = await moment.enqueue(max_reaps=2), 2
    hand, now = moment.worker(), moment.start
    for loss in range(1, 4 * allowed + 2):
        (claim,) = await hand.pick()
        assert claim.suspect == (loss > 2)
        await moment.run("mark_alone", job, claim.lease, "w1", True)
        await moment.run("mark_alone", job, claim.lease, "w1", False)
        now += LEASE
        await moment.at(now)
        await moment.run(*REAP)
        assert (await moment.app.get(job)).state == ("pending" if loss <= 4 * allowed else "failed")


async def test_that_an_earlier_claim_ran_alone_is_not_held_against_a_job(moment: Moment) -> None:
    job = await moment.enqueue(max_reaps=1)
    hand, now = moment.worker(), moment.start
    for loss in range(2):
        (claim,) = await hand.pick()
        if loss == 0:
            assert await moment.ids("mark_alone", job, claim.lease, "w1", True) == {job}
        assert await moment.ids("mark_alone", job, claim.lease - 1, "w1", True) == set()
        assert await moment.ids("mark_alone", job, claim.lease, "w2", True) == set()
        now += LEASE
        await moment.at(now)
        await moment.run(*REAP)
    assert await moment.state(job) == "pending"


@pytest.mark.parametrize("outcome", [go, replay, park], ids=["next", "replay", "await"])
async def test_losses_count_against_a_step_since_it_last_got_on(moment: Moment, outcome: Any) -> None:
    """Eight steps with one loss each."""
    job = await moment.enqueue(max_reaps=1)
    hand, now = moment.worker(), moment.start
    for _ in range(8):
        (claim,) = await hand.pick()
        await moment.run("mark_alone", job, claim.lease, "w1", True)
        now += LEASE
        await moment.at(now)
        await moment.run(*REAP)
        assert (await moment.app.get(job)).reaps == 1
        (claim,) = await hand.pick()
        assert claim.suspect
        await hand.commit(outcome(claim, "go") if outcome is park else outcome(claim))
        assert (await moment.app.get(job)).reaps == 0
        await moment.app.signal(job, "go")


async def test_a_job_that_was_to_be_cancelled_does_not_outlive_its_worker(moment: Moment) -> None:
    job = await moment.enqueue()
    await moment.worker().pick()
    await moment.app.cancel(job, reason="enough")
    await moment.at(moment.start + LEASE)
    await moment.run(*REAP)
    assert await moment.state(job) == "cancelled"
    assert await moment.verbs_of(job) == ["yield"]


async def test_the_jobs_of_a_dead_worker_are_handed_back_before_their_leases_expire(moment: Moment) -> None:
    mine, theirs = await moment.enqueue(queue="a"), await moment.enqueue(queue="b")
    await moment.worker("dead", ["a"]).pick("a")
    await moment.worker("alive", ["b"]).pick("b")
    await moment.at(moment.start + SECOND)
    assert await moment.ids("reap_jobs", 100, "dead", "keeper", None, []) == {mine}
    assert [await moment.status(job) for job in (mine, theirs)] == ["runnable", "executing"]
