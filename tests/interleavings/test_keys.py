"""The line behind a partition key: who runs, who waits, and that the next is always let in.

`hold` checks after every order that no key runs two, and that after one sweep every key with due jobs and
no holder has an open head.
"""

from __future__ import annotations

import pytest
from tests.engine_statements import Hand, call, done, go
from tests.interleavings.stepping import COMMIT, ROLLBACK, VANISH
from tests.interleavings.world import asks, cancels, claimed, commits, picks, reaps, sends, session

from kairos import operations
from kairos.store.query import drive

KEY = {"key": "k"}
_PICK = ("pick_jobs", "pick_keyed")


async def open_heads(jobs):
    return [
        row["id"]
        for row in await jobs.fetch(
            "select id from kairos.gen_durable where status = 'runnable' and not held"
        )
    ]


@pytest.mark.parametrize("ending", [COMMIT, ROLLBACK])
async def test_two_pickers_never_both_get_the_key(jobs, every_order, ending):
    async def prepare():
        prepare.line = [await jobs.enqueue(**KEY) for _ in range(3)]
        return {"one": picks("w1", ending=ending, ends="pick_keyed"), "other": picks("w2")}

    async def check(result):
        got = [claim.id for claims in result.answers.values() for claim in claims]
        assert got in ([], prepare.line[:1])

    assert await every_order(prepare, check) > 20


async def test_two_pickers_of_two_queues_never_both_get_the_key(jobs, every_order):
    async def prepare():
        prepare.line = [await jobs.enqueue(queue=queue, **KEY) for queue in ("a", "b", "a")]
        return {"one": picks("w1", queue="a"), "other": picks("w2", queue="b")}

    async def check(result):
        got = [claim.id for claims in result.answers.values() for claim in claims]
        assert got in ([], prepare.line[:1])

    assert await every_order(prepare, check) > 20


async def test_a_picker_with_an_old_view_of_the_line_does_not_get_the_key_too(jobs, every_order):
    """What is head of the line changes, and is picked, while another picker has already looked."""

    async def prepare():
        await jobs.enqueue(**KEY)

        async def overtakes(store):
            await drive(operations.enqueue(call(priority=-1, **KEY)), store.run)
            hand = Hand(store, "w2")
            await hand.picker.pick("default", 10)
            return hand.claims

        return {
            "old": picks("w1", gated=("pick_keyed",)),
            "new": session(overtakes, coarse=True),
        }

    async def check(result):
        assert sum(len(claims) for claims in result.answers.values()) <= 1

    assert await every_order(prepare, check) > 10


@pytest.mark.parametrize(("ending", "outcome"), [(COMMIT, done), (COMMIT, go), (VANISH, done)])
async def test_a_job_put_on_hold_while_its_key_is_freed_is_let_in_again(jobs, every_order, ending, outcome):
    """The holder commits, and frees the key in a second transaction, while a picker meets those behind it."""

    async def prepare():
        claim = await claimed(jobs, **KEY)
        prepare.line = [await jobs.enqueue(**KEY) for _ in range(2)]
        return {"holder": commits("w1", outcome(claim), ending=ending), "picker": picks("w2")}

    async def check(result):
        if ending == COMMIT:  # no sweep was needed
            assert result.answers["picker"] or await open_heads(jobs)

    assert await every_order(prepare, check) > 10


async def test_a_job_put_on_hold_while_its_key_is_reaped_is_let_in_again(jobs, every_order):
    async def prepare():
        claim = await claimed(jobs, **KEY)
        await jobs.let_leases_expire(claim.id)
        await jobs.enqueue(**KEY)
        return {"reaper": reaps(), "picker": picks("w2")}

    async def check(result):
        assert len(result.answers["picker"]) <= 1

    assert await every_order(prepare, check) > 10


async def test_a_job_inserted_behind_a_line_that_runs_empty_is_let_in_by_the_sweep(jobs, every_order):
    """The insert sees a line, and joins it on hold; by the time it commits there may be nobody left in it."""

    async def prepare():
        prepare.first, prepare.second = [job.id for job in await jobs.enqueue_many(KEY, KEY)]
        (claim,) = await jobs.worker("w1").pick()

        async def run_dry(store):
            hand = Hand(store, "w1")
            await hand.commit(done(claim))
            await hand.picker.pick("default", 10)
            await hand.commit(*map(done, list(hand.claims)))

        insert = ("insert_jobs",)
        return {
            "worker": session(run_dry, coarse=True),
            "client": asks(lambda: operations.enqueue(call(**KEY)), gated=insert),
        }

    async def check(result):
        await jobs.sweep()
        job = result.answers["client"].id
        assert [claim.id for claim in await jobs.worker("w3").pick()] == [job]

    assert await every_order(prepare, check) > 10


@pytest.mark.parametrize("statement", ["cancel", "expire"])
async def test_the_next_is_let_in_when_the_head_of_the_line_ends_unrun(jobs, every_order, statement):
    async def prepare():
        prepare.head, prepare.next = [job.id for job in await jobs.enqueue_many({"ttl": "1h", **KEY}, KEY)]
        if statement == "expire":
            await jobs.fetch("update kairos.gen_durable set expires_at = now() where id = $1", prepare.head)
        ends = cancels(prepare.head) if statement == "cancel" else sends("expire_jobs", 10, None, [])
        return {"ends": ends, "picker": picks("w1", gated=_PICK)}

    async def check(result):
        await jobs.sweep()
        got = result.answers["picker"] or await jobs.worker("w2").pick()
        assert [claim.id for claim in got] in ([prepare.head], [prepare.next])

    assert await every_order(prepare, check) > 5


async def test_a_more_urgent_job_inserted_under_a_picker_is_next(jobs, every_order):
    async def prepare():
        prepare.line = [job.id for job in await jobs.enqueue_many(KEY, KEY)]
        return {
            "client": asks(lambda: operations.enqueue(call(priority=-1, **KEY))),
            "picker": picks("w1"),
        }

    async def check(result):
        urgent = result.answers["client"].id
        (claim,) = result.answers["picker"] or await jobs.worker("w1").pick()
        await jobs.worker("w1").commit(done(claim))
        order = [claim.id, *await jobs.worker("w1").run()]
        assert order in ([urgent, *prepare.line], [prepare.line[0], urgent, prepare.line[1]])

    assert await every_order(prepare, check) > 10
