"""A signal and the step that waits for it, in every order: none is lost, none wakes twice."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.engine_statements import done, go, park
from tests.interleavings.stepping import COMMIT, PAIRS, ROLLBACK, UNDONE
from tests.interleavings.world import claimed, commits, delivers, picks, sends

_PARK = ("park_jobs", "recheck_inbox")


@pytest.mark.parametrize(("parker", "sender"), PAIRS)
async def test_no_order_of_a_park_and_a_signal_loses_the_wake_up(jobs, every_order, parker, sender):
    async def prepare():
        claim = prepare.claim = await claimed(jobs)
        return {
            "worker": commits("w1", park(claim, "go"), ending=parker, gated=_PARK),
            "sender": delivers(claim.id, "go", ending=sender),
        }

    async def check(outcome):
        parked, sent = parker not in UNDONE, sender not in UNDONE
        expected = "executing" if not parked else "runnable" if sent else "awaiting_signal"
        assert await jobs.status(prepare.claim.id) == expected
        assert (await jobs.verbs_of(prepare.claim.id)).count("wake") == (parked and sent)

    assert await every_order(prepare, check) > 5


@pytest.mark.parametrize("dedup", [None, "once"])
async def test_two_signals_and_a_park_wake_the_job_once(jobs, every_order, dedup):
    async def prepare():
        claim = prepare.claim = await claimed(jobs)
        return {
            "worker": commits("w1", park(claim, "go", "stay")),
            "one": delivers(claim.id, "go", dedup),
            "other": delivers(claim.id, "go", dedup),
        }

    async def check(outcome):
        assert await jobs.status(prepare.claim.id) == "runnable"
        assert (await jobs.verbs_of(prepare.claim.id)).count("wake") == 1
        answers = [outcome.answers[name]["answer"] for name in ("one", "other")]
        assert answers.count("duplicate") == (dedup is not None)
        assert len(await jobs.run("read_signals", prepare.claim.id)) == (1 if dedup else 2)

    assert await every_order(prepare, check) > 10


@pytest.mark.parametrize("ending", [COMMIT, ROLLBACK])
async def test_a_deadline_and_a_signal_wake_the_job_once(jobs, orders, every_order, ending):
    """The clock passes the deadline at any moment of the two."""
    orders.sql["pass"] = (
        "update kairos.gen_durable set await_until = now() where id = $1 and await_until > now()"
    )

    async def prepare():
        claim = prepare.claim = await claimed(jobs)
        await jobs.worker().commit(park(claim, "go", timeout=timedelta(hours=1), then="late"))
        return {
            "clock": sends("pass", claim.id),
            "sweeper": sends("timeout_jobs", 10, None, [], ending=ending),
            "sender": delivers(claim.id, "go"),
        }

    async def check(outcome):
        await jobs.sweep()  # a deadline that has passed is met by the next sweep at the latest
        (verb,) = (await jobs.verbs_of(prepare.claim.id))[1:]
        row = await jobs.row(prepare.claim.id)
        assert row["status"] == "runnable"
        assert (verb, row["step"], row["awaits"]) in [("wake", "run", None), ("timeout", "late", ["go"])]
        assert outcome.answers["sender"]["answer"] == ("woke" if verb == "wake" else "delivered")

    assert await every_order(prepare, check) > 10


@pytest.mark.parametrize("ending", [COMMIT, ROLLBACK])
async def test_a_signal_to_a_job_that_ends_is_in_its_inbox_or_refused(jobs, every_order, ending):
    async def prepare():
        claim = prepare.claim = await claimed(jobs)
        return {
            "worker": commits("w1", done(claim), ending=ending, gated=("settle_jobs",)),
            "sender": delivers(claim.id, "go"),
        }

    async def check(outcome):
        answer = outcome.answers["sender"]["answer"]
        assert answer in (("delivered",) if ending in UNDONE else ("delivered", "finished"))
        assert len(await jobs.run("read_signals", prepare.claim.id)) == (answer == "delivered")

    assert await every_order(prepare, check) > 3


async def test_a_signal_that_the_pick_did_not_see_is_seen_by_the_park(jobs, every_order):
    """Run ahead and then park, on an inbox that only the pick reads: whatever came later wakes."""

    async def prepare():
        job = prepare.job = await jobs.enqueue()
        prepare.shown = []

        async def works(store):
            for claim in await picks("w1", gated=("pick_jobs",))(store):  # none while the sender has the row
                prepare.shown = [signal.id for signal in claim.inbox]
                await commits("w1", go(claim, ahead=True))(store)
                await commits("w1", park(claim, "go"))(store)

        return {"worker": works, "sender": delivers(job, "go")}

    async def check(outcome):
        expected = "awaiting_signal" if prepare.shown else "runnable"
        assert await jobs.status(prepare.job) == expected

    assert await every_order(prepare, check, shown=lambda: prepare.shown) > 10
