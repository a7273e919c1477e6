"""Within a key jobs run one after the other, by (priority, eligible_at, id), however they came in."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.engine_statements import done, go, hand_back, park, replay

from kairos import operations
from kairos.fsm.lifecycle import Verb

KEY = {"key": "k"}
HOUR = timedelta(hours=1)


async def test_jobs_of_a_key_run_in_the_order_they_came(jobs):
    line = [await jobs.enqueue(**KEY) for _ in range(5)]
    assert await jobs.worker().run() == line


async def test_a_batch_keeps_its_own_order_behind_what_was_there(jobs):
    single = [await jobs.enqueue(**KEY), await jobs.enqueue(**KEY)]
    batch = [job.id for job in await jobs.enqueue_many(*[KEY] * 3)]
    last = await jobs.enqueue(**KEY)
    second = [job.id for job in await jobs.enqueue_many(*[KEY] * 2)]
    assert await jobs.worker().run() == [*single, *batch, last, *second]


async def test_a_batch_with_unique_keys_keeps_the_order_of_its_calls(jobs):
    batch = await jobs.enqueue_many(*({"unique": name, **KEY} for name in "zay"))
    assert await jobs.worker().run() == [job.id for job in batch]


async def test_a_duplicate_in_a_batch_does_not_hold_up_the_line(jobs):
    """The first of the line is not inserted, since its unique key is taken; the second waited behind it."""
    await jobs.enqueue(unique="u", delay="1h")
    _, second = await jobs.enqueue_many({"unique": "u", **KEY}, KEY)
    await jobs.sweep()
    assert await jobs.worker().run() == [second.id]


async def test_priority_comes_before_time_and_time_before_id(jobs):
    now = await jobs.value("select now()")
    ids = [
        await jobs.enqueue(priority=priority, run_at=now - age, **KEY)
        for priority, age in [(0, 0 * HOUR), (5, 3 * HOUR), (0, HOUR), (-5, 0 * HOUR), (0, HOUR)]
    ]
    assert await jobs.worker().run() == [ids[place] for place in (3, 2, 4, 0, 1)]


async def test_a_more_urgent_job_overtakes_those_on_hold_but_not_the_one_that_runs(jobs):
    first, second = [job.id for job in await jobs.enqueue_many(KEY, KEY)]
    worker = jobs.worker()
    (claim,) = await worker.pick()
    urgent = await jobs.enqueue(priority=-1, **KEY)
    assert await worker.pick() == []
    await worker.commit(done(claim))
    assert [claim.id, *await worker.run()] == [first, urgent, second]


async def test_a_job_for_later_does_not_keep_its_key_from_the_others(jobs):
    later = await jobs.enqueue(delay="1h", priority=-1, **KEY)
    now = [await jobs.enqueue(**KEY) for _ in range(2)]
    assert await jobs.worker().run() == now
    await jobs.ask(operations.run_now(later))
    assert await jobs.worker().run() == [later]


@pytest.mark.parametrize("verb", [Verb.REPLAY, Verb.RETRY])
@pytest.mark.parametrize("ordered", [False, True])
async def test_only_an_ordered_job_keeps_its_place_while_it_waits_out_a_retry(jobs, ordered, verb):
    first, second = [job.id for job in await jobs.enqueue_many({"ordered": ordered, **KEY}, KEY)]
    worker = jobs.worker()
    (claim,) = await worker.pick()
    await worker.commit(replay(claim, HOUR, verb))
    await jobs.sweep()
    assert await worker.run() == ([] if ordered else [second])
    await jobs.ask(operations.run_now(first))
    assert await worker.run() == ([first, second] if ordered else [first])


@pytest.mark.parametrize("ordered", [False, True])
async def test_only_an_ordered_job_keeps_its_place_across_its_steps(jobs, ordered):
    first, second = [job.id for job in await jobs.enqueue_many({"ordered": ordered, **KEY}, KEY)]
    worker = jobs.worker()
    (claim,) = await worker.pick()
    await worker.commit(go(claim))
    assert await worker.run() == ([first, second] if ordered else [second, first])


@pytest.mark.parametrize("ordered", [False, True])
async def test_a_job_whose_worker_was_lost_is_first_in_line_again(jobs, ordered):
    first, second = [job.id for job in await jobs.enqueue_many({"ordered": ordered, **KEY}, KEY)]
    await jobs.worker().pick()
    await jobs.let_leases_expire(first)
    await jobs.sweep()
    assert await jobs.worker("w2").run() == [first, second]


async def test_a_job_handed_back_unrun_is_first_in_line_again(jobs):
    first, second = [job.id for job in await jobs.enqueue_many(KEY, KEY)]
    worker = jobs.worker()
    await worker.commit(*map(hand_back, await worker.pick()))
    assert await worker.run() == [first, second]


async def test_an_ordered_job_that_waits_for_a_signal_lets_the_others_by(jobs):
    first, second = [job.id for job in await jobs.enqueue_many({"ordered": True, **KEY}, KEY)]
    worker = jobs.worker()
    (claim,) = await worker.pick()
    await worker.commit(park(claim, "go"))
    assert await worker.run() == [second]
    await jobs.ask(operations.signal(first, "go"))
    assert await worker.run() == [first]
