"""At most one step of a key runs at once, also with zombies, several queues and names that look alike."""

from __future__ import annotations

import asyncpg
import pytest
from tests.engine_statements import ADVISORY, done

from kairos import operations

KEY = {"key": "k"}
RUNNING = "select count(*) from kairos.gen_durable where status = 'executing'"
COLLIDING = ("tenant-60489", "tenant-120827")


async def test_a_second_job_of_a_key_is_not_picked_while_the_first_runs(jobs):
    await jobs.enqueue_many(KEY, KEY)
    assert len(await jobs.worker("w1").pick()) == 1
    await jobs.sweep()
    assert await jobs.worker("w2").pick() == []


async def test_the_database_refuses_a_second_holder_of_a_key(jobs):
    first, second = [job.id for job in await jobs.enqueue_many(KEY, KEY)]
    await jobs.worker().pick()
    with pytest.raises(asyncpg.UniqueViolationError, match="gen_durable_key_holder"):
        await jobs.fetch(
            """update kairos.gen_durable set status = 'executing', held = false, lease = 1, locked_by = 'thief',
               lease_expires_at = now() + interval '1 hour', started_at = now() where id = $1""",
            second,
        )
    assert await jobs.status(first) == "executing"


async def test_a_zombie_cannot_commit_once_the_key_has_gone_to_another(jobs):
    first, second = [job.id for job in await jobs.enqueue_many(KEY, KEY)]
    zombie, heir = jobs.worker("w1"), jobs.worker("w2")
    (stale,) = await zombie.pick()
    await jobs.let_leases_expire(first)
    await jobs.sweep()
    (claim,) = await heir.pick()
    assert (claim.id, await zombie.commit(done(stale)), zombie.flusher.stale) == (first, 0, 1)
    assert await jobs.value(RUNNING) == 1
    assert await heir.commit(done(claim)) == 1
    assert [claim.id for claim in await heir.pick()] == [second]


async def test_a_key_spans_queues(jobs):
    queues = ("a", "b", "a", "b")
    line = [await jobs.enqueue(queue=queue, **KEY) for queue in queues]
    worker = jobs.worker(queues=("a", "b"))
    for place, queue in enumerate(queues):
        other = "ab"[queue == "a"]
        assert await worker.pick(other) == []  # its head is not the head of the key
        (claim,) = await worker.pick(queue)
        assert claim.id == line[place]
        assert await worker.pick(other) == []
        await worker.commit(done(claim))


@pytest.mark.parametrize("places", [2, 3])
async def test_a_key_runs_as_many_at_once_as_its_queue_allows(jobs, places):
    await jobs.ask(operations.limit("default", key_concurrency=places))
    line = [job.id for job in await jobs.enqueue_many(*[KEY] * 5)]
    worker = jobs.worker()
    running = []
    for _ in range(places + 1):
        running += await worker.pick()
    assert [claim.id for claim in running] == line[:places]
    slots = await jobs.fetch("select key_slot from kairos.gen_durable where status = 'executing' order by 1")
    assert [row["key_slot"] for row in slots] == list(range(places))
    await worker.commit(done(running[1]))
    assert [claim.id for claim in await worker.pick()] == [line[places]]


async def test_a_lowered_limit_lets_nothing_start_until_enough_have_ended(jobs):
    await jobs.ask(operations.limit("default", key_concurrency=3))
    await jobs.enqueue_many(*[KEY] * 5)
    worker = jobs.worker()
    running = await worker.pick() + await worker.pick() + await worker.pick()
    await jobs.ask(operations.limit("default", key_concurrency=1))
    for urgency, claim in enumerate(running):
        await jobs.enqueue(priority=-urgency, **KEY)
        assert await worker.pick() == []
        await worker.commit(done(claim))
    assert len(await worker.pick()) == 1


async def test_keys_whose_short_hashes_collide_do_not_block_each_other(jobs):
    assert await jobs.value("select hashtext($1) = hashtext($2)", *COLLIDING)
    async with jobs.store.transaction() as one, jobs.store.transaction() as other:
        assert len(await one.fetch(jobs.store.sql["try_lock_keys"], list(COLLIDING[:1]))) == 1
        assert len(await other.fetch(jobs.store.sql["try_lock_keys"], list(COLLIDING[1:]))) == 1
    await jobs.enqueue_many(*({"key": key} for key in COLLIDING))
    assert len(await jobs.worker().pick()) == 2


async def test_no_advisory_lock_is_left_when_all_is_quiet(jobs):
    await jobs.enqueue_many(*({"key": f"k{n % 7}"} for n in range(50)))
    worker = jobs.worker()
    while claims := await worker.pick():
        assert await jobs.value(ADVISORY) == 0  # not even while steps run
        await worker.commit(*map(done, claims))
    assert await jobs.value("select count(*) from kairos.gen_durable where status = 'done'") == 50
    assert await jobs.value(ADVISORY) == 0


async def test_a_raised_limit_holds_while_the_first_job_of_the_key_still_runs(jobs):
    first, second, third = [await jobs.enqueue(key="k") for _ in range(3)]
    worker = jobs.worker()
    assert [claim.id for claim in await worker.pick()] == [first]
    await jobs.ask(operations.limit("default", key_concurrency=2))
    await jobs.sweep()
    assert [claim.id for claim in await worker.pick()] == [second]
    await jobs.sweep()
    assert await worker.pick() == []
    assert await jobs.value("select held from kairos.gen_durable where id = $1", third)


async def test_the_limit_of_another_queue_opens_no_key(jobs):
    await jobs.ask(operations.limit("other", key_concurrency=2))
    for _ in range(2):
        await jobs.enqueue(key="k")
    assert len(await jobs.worker().pick()) == 1
    await jobs.sweep()
    assert await jobs.value("select count(*) from kairos.gen_durable where held") == 1
