"""A worker against a reaper, a client, a clock and other workers: in every order exactly one of them wins."""

from __future__ import annotations

import pytest
from tests.engine_statements import LEASE, Hand, done, go, park, replay
from tests.interleavings.stepping import COMMIT, PAIRS, ROLLBACK, UNDONE
from tests.interleavings.world import cancels, claimed, commits, picks, reaps, sends, session

OUTCOMES = {"done": done, "next": go, "replay": replay, "park": lambda claim: park(claim, "go")}
_STATEMENTS = ("settle_jobs", "finish_jobs", "park_jobs")


@pytest.mark.parametrize(
    ("outcome", "worker", "reaper"),
    [*((name, COMMIT, COMMIT) for name in OUTCOMES), ("done", ROLLBACK, COMMIT), ("park", COMMIT, ROLLBACK)],
)
async def test_an_outcome_and_the_reaper_never_both_win(jobs, every_order, worker, reaper, outcome):
    async def prepare():
        claim = prepare.claim = await claimed(jobs)
        await jobs.let_leases_expire(claim.id)
        return {
            "worker": commits("w1", OUTCOMES[outcome](claim), ending=worker, gated=_STATEMENTS),
            "reaper": reaps(ending=reaper, gated=("reap_jobs",)),
        }

    async def check(result):
        happened = await jobs.verbs_of(prepare.claim.id)
        assert len(happened) <= 1
        if worker == COMMIT:
            assert happened
            assert result.answers["worker"] == (happened != ["reap"])

    assert await every_order(prepare, check) > 5


@pytest.mark.parametrize("heir", ["w1", "w2"])
async def test_a_reaped_job_that_was_picked_again_is_never_written_by_its_first_run(jobs, every_order, heir):
    """Not by another worker's first run, and not by the same worker's either."""

    async def prepare():
        claim = prepare.claim = await claimed(jobs)
        await jobs.let_leases_expire(claim.id)

        async def second(store):
            hand = Hand(store, heir)
            await hand.picker.pick("default", 1)
            return await hand.commit(*map(done, list(hand.claims)))

        return {
            "zombie": commits("w1", done(claim), gated=_STATEMENTS),
            "reaper": reaps(),
            "second": session(second, coarse=True),
        }

    async def check(result):
        happened = await jobs.verbs_of(prepare.claim.id)
        assert happened.count("done") == result.answers["zombie"] + result.answers["second"] <= 1
        assert not (result.answers["zombie"] and "reap" in happened)

    assert await every_order(prepare, check) > 20


async def test_two_reapers_hand_a_job_back_once(jobs, every_order):
    async def prepare():
        claim = prepare.claim = await claimed(jobs)
        await jobs.let_leases_expire(claim.id)
        return {"one": reaps(gated=("reap_jobs",)), "other": reaps(gated=("reap_jobs",))}

    async def check(result):
        assert await jobs.verbs_of(prepare.claim.id) == ["reap"]
        assert (await jobs.row(prepare.claim.id))["attempt"] == 1

    assert await every_order(prepare, check) > 5


@pytest.mark.parametrize("keeper", [COMMIT, ROLLBACK])
async def test_a_lease_is_renewed_or_reaped_and_the_keeper_knows_which(jobs, orders, every_order, keeper):
    """The clock passes the lease's end at any moment of the two."""
    orders.sql["pass"] = "update kairos.gen_durable set lease_expires_at = now() where id = $1"

    async def prepare():
        claim = prepare.claim = await claimed(jobs)
        return {
            "clock": sends("pass", claim.id),
            "keeper": sends("renew_leases", [claim.id], [claim.lease], LEASE, "w1", ending=keeper),
            "reaper": reaps(),
        }

    async def check(result):
        row = await jobs.row(prepare.claim.id)
        if "keeper" in result.answers and row["status"] == "executing":
            (answer,) = result.answers["keeper"]
            expired = row["lease_expires_at"] <= await jobs.value("select now()")
            assert expired or not answer["lost"]

    assert await every_order(prepare, check) > 30


@pytest.mark.parametrize("outcome", OUTCOMES)
async def test_a_cancel_and_an_outcome_end_the_job_once(jobs, every_order, outcome):
    async def prepare():
        claim = prepare.claim = await claimed(jobs)
        return {
            "worker": commits("w1", OUTCOMES[outcome](claim), gated=_STATEMENTS),
            "client": cancels(claim.id, gated=("cancel_jobs",)),
        }

    async def check(result):
        status = await jobs.status(prepare.claim.id)
        assert result.answers["worker"] == 1
        # A request that reaches a step about to end changes nothing: what it did is done.
        assert status == ("done" if outcome == "done" else "cancelled")
        assert result.answers["client"]["done"] or outcome == "done"

    assert await every_order(prepare, check) > 5


@pytest.mark.parametrize(
    ("worker", "client", "key"), [*((*pair, None) for pair in PAIRS[:3]), (COMMIT, COMMIT, "k")]
)
async def test_a_cancel_and_a_pick_agree_on_who_has_the_job(jobs, every_order, worker, client, key):
    async def prepare():
        job = prepare.job = await jobs.enqueue(key=key)
        return {
            "worker": picks("w1", ending=worker, gated=("pick_jobs", "pick_keyed")),
            "client": cancels(job, ending=client, gated=("cancel_jobs",)),
        }

    async def check(result):
        row = await jobs.row(prepare.job)
        got = bool(result.answers.get("worker"))
        assert row["status"] == ("executing" if got else "cancelled" if client == COMMIT else row["status"])
        assert row["cancel_requested_at"] is not None or client in UNDONE

    assert await every_order(prepare, check) > 3


async def test_two_picks_never_claim_the_same_job(jobs, every_order):
    async def prepare():
        prepare.jobs = [await jobs.enqueue() for _ in range(2)]
        gated = ("pick_jobs",)
        return {"one": picks("w1", 1, gated=gated), "other": picks("w2", 2, gated=gated)}

    async def check(result):
        got = [claim.id for claims in result.answers.values() for claim in claims]
        assert len(got) == len(set(got)) >= 1
        assert all(
            [await jobs.value("select lease = 1 from kairos.gen_durable where id = $1", j) for j in got]
        )

    assert await every_order(prepare, check) > 5


@pytest.mark.parametrize(("worker", "sweeper"), PAIRS[:3])
async def test_a_job_is_picked_or_expired_and_never_both(jobs, orders, every_order, worker, sweeper):
    """The TTL closes at any moment of the two."""
    orders.sql["pass"] = "update kairos.gen_durable set expires_at = now() where id = $1"

    async def prepare():
        job = prepare.job = await jobs.enqueue(ttl="1h")
        return {
            "clock": sends("pass", job),
            "worker": picks("w1", ending=worker),
            "sweeper": sends("expire_jobs", 10, None, [], ending=sweeper),
        }

    async def check(result):
        got = bool(result.answers.get("worker"))
        expired = bool(result.answers.get("sweeper"))
        assert not (got and expired)
        expected = "executing" if got else "expired" if expired else "runnable"
        assert await jobs.status(prepare.job) == expected

    assert await every_order(prepare, check) > 30
