"""Two who want the same unique key: in every order one has it, and the other is told who."""

from __future__ import annotations

import pytest
from tests.engine_statements import call, done
from tests.interleavings.stepping import PAIRS
from tests.interleavings.world import claimed, commits, session

from kairos import operations
from kairos.errors import Duplicate
from kairos.store.query import drive


def enqueues(*keys, **how):
    """A batch; answers (id, is_new) of each."""

    async def body(store):
        jobs = await drive(operations.enqueue_many([call(unique=key) for key in keys]), store.run)
        return [(job.id, job.is_new) for job in jobs]

    return session(body, **how)


def inserts(*keys):
    """The statement of a batch, without what follows to tell who has the keys that were taken."""
    calls = [call(unique=key) for key in keys]
    return session(lambda store: store.run(next(operations.enqueue_many(calls))))


@pytest.mark.parametrize(("one", "other"), PAIRS)
async def test_of_two_enqueues_of_a_key_one_is_new_and_the_other_is_told_its_id(
    jobs, every_order, one, other
):
    async def prepare():
        return {"one": enqueues("u", ending=one), "other": enqueues("u", ending=other)}

    async def check(result):
        rows = await jobs.fetch("select id from kairos.gen_durable where unique_guard is not null")
        answers = [answer for (answer,) in result.answers.values()]
        assert len(rows) == 1
        assert sorted(is_new for _, is_new in answers) == [False, True][2 - len(answers) :]
        assert {job for job, _ in answers} == {rows[0]["id"]}

    assert await every_order(prepare, check) > 3


async def test_two_batches_that_share_keys_in_opposite_orders_do_not_deadlock(jobs, every_order):
    """A third holds one of the keys for a while, so that the others stop in the middle of their batches."""

    async def prepare():
        return {
            "first": inserts("b"),
            "one": inserts("a", "b", "c"),
            "other": inserts("c", "b", "a"),
        }

    async def check(result):
        assert await jobs.value("select count(*) from kairos.gen_durable") == 3
        assert sum(row["is_new"] for batch in result.answers.values() for row in batch) == 3

    assert await every_order(prepare, check) > 30


async def test_a_key_is_free_again_from_the_instant_its_holder_ends(jobs, every_order):
    async def prepare():
        claim = prepare.claim = await claimed(jobs, unique="u")
        return {"worker": commits("w1", done(claim), gated=("finish_jobs",)), "client": enqueues("u")}

    async def check(result):
        ((job, is_new),) = result.answers["client"]
        assert is_new == (job != prepare.claim.id)
        ended = result.trace.index("worker: commit") < result.trace.index("client: insert_jobs")
        assert is_new or not ended

    assert await every_order(prepare, check) > 3


async def test_a_retry_that_loses_its_key_to_an_enqueue_is_told_who_has_it(jobs, every_order):
    async def prepare():
        claim = prepare.claim = await claimed(jobs, unique="u")
        await jobs.worker("w1").commit(done(claim))

        async def retries(store):
            try:
                return await drive(operations.retry(claim.id, step="run"), store.run)
            except Duplicate as taken:
                return taken.job

        return {"retry": session(retries), "client": enqueues("u")}

    async def check(result):
        ((job, _),) = result.answers["client"]
        assert result.answers["retry"].id == job
        assert await jobs.value("select count(*) from kairos.gen_durable") == 2

    assert await every_order(prepare, check) > 3
