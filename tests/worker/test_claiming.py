"""How much a worker claims: what its lanes can start soon, and nothing while a limit is reached."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import asyncpg
from tests.engine_statements import Hand, done
from tests.worker.world import ended, reaches, until, verbs, working

from kairos.store.async_store import AsyncStore
from kairos.store.query import Query
from kairos.worker.frozen_sessions import FrozenSessions
from kairos.worker.leases import Leases


async def test_what_is_claimed_behind_slow_jobs_is_given_back_to_a_worker_with_free_lanes(app):
    go = asyncio.Event()

    @app.job
    async def slow() -> None:
        await go.wait()

    @app.job
    async def quick() -> None: ...

    async with working(app, concurrency=2) as worker:
        slows = await app.enqueue_many([slow.call() for _ in range(2)])
        await until(lambda: len(worker.executor.running) == 2)
        worker.picker.pace.rate = 1000.0  # as if it had been quick so far
        quicks = await app.enqueue_many([quick.call() for _ in range(10)])
        await until(lambda: worker.executor.load > 2)
        async with app.worker(poll=0.1) as other:
            for job in quicks:
                assert (await ended(app, job.id)).state == "success"
            assert other.flusher.committed == 10
        assert [(await app.get(job.id)).state for job in slows] == ["running"] * 2
        go.set()
        for job in slows:
            assert (await ended(app, job.id)).state == "success"
        history = [await verbs(app, job.id) for job in quicks]
        assert ["release", "done"] in history


async def test_a_queue_at_its_limit_is_asked_again_after_a_commit_or_a_poll(app, monkeypatch):
    asked, on = [], AsyncStore.on

    async def noted(store: Any, connection: Any, query: Query) -> Any:
        asked.append(query.name)
        return await on(store, connection, query)

    @app.job
    async def work() -> None: ...

    async with app:
        await app.limit("default", concurrency=1)
        leases = Leases(10)
        hand = Hand(app.store, "w", ["default"], poll=3600.0, leases=leases)
        jobs = await app.enqueue_many([work.call() for _ in range(3)])
        await hand.picker.refresh()
        while await hand.picker.tick() < 1.0:
            pass  # one is admitted, and then the limit is reached
        assert [claim.id for claim in hand.claims] == [jobs[0].id]
        monkeypatch.setattr(AsyncStore, "on", noted)
        hand.picker.pick_soon()  # a hint brings no room
        assert await hand.picker.tick() > 1.0
        assert "admit_queue" not in asked
        await hand.commit(done(hand.claims.pop()))
        hand.picker.settled(False)
        while await hand.picker.tick() < 1.0:
            pass
        assert "admit_queue" in asked
        assert [claim.id for claim in hand.claims] == [jobs[1].id]
        leases.close()


async def test_a_place_that_another_worker_frees_is_found_by_the_next_poll(app):
    go = asyncio.Event()

    @app.job
    async def work() -> None:
        await go.wait()

    async with working(app, concurrency=1):
        await app.limit("default", concurrency=1)
        first = await work.enqueue()
        await reaches(app, first.id, "running")
        async with app.worker(poll=0.1, queues=["default"]) as other:
            jobs = [await work.enqueue() for _ in range(2)]
            await until(lambda: other.picker.queues_at_limit)
            go.set()
            for job in jobs:
                assert (await ended(app, job.id)).state == "success"


async def test_a_due_job_that_somebody_has_locked_is_looked_for_less_and_less_often(
    app, database, monkeypatch
):
    async def search_for_none(_: FrozenSessions, **__: bool) -> None: ...

    @app.job
    async def work() -> None: ...

    # Its searches come by the clock, not by the tick.
    monkeypatch.setattr(FrozenSessions, "end", search_for_none)
    async with app:
        hand = Hand(app.store, "w")
        job = await work.enqueue()
        client = await asyncpg.connect(database)
        async with client.transaction():
            await client.execute("select from kairos.gen_durable where id = $1 for update", job.id)
            waits = [await hand.picker.tick() for _ in range(8)]
            assert 0.2 < waits[-1] <= 1.0
        await client.close()
        await hand.picker.tick()
        assert [claim.id for claim in hand.claims] == [job.id]


async def test_a_queue_at_its_limit_does_not_hide_that_the_job_of_another_is_locked(
    app, database, monkeypatch
):
    locked = 0

    def noted(frozen: FrozenSessions) -> None:
        nonlocal locked
        locked += 1

    @app.job
    async def work() -> None: ...

    async with app:
        await app.limit("full", concurrency=1)
        leases = Leases(10)
        hand = Hand(app.store, "w", ["full", "default"], poll=3600.0, leases=leases)
        await app.enqueue_many([work.options(queue="full").call() for _ in range(2)])
        await hand.picker.refresh()
        while not hand.picker.queues_at_limit:
            await hand.picker.tick()
        monkeypatch.setattr(FrozenSessions, "met_lock", noted)
        await hand.picker.tick()
        assert locked == 0  # there is nothing else
        job = await work.enqueue()
        client = await asyncpg.connect(database)
        async with client.transaction():
            await client.execute("select from kairos.gen_durable where id = $1 for update", job.id)
            await hand.picker.tick()
            assert locked == 1
        await client.close()
        leases.close()


async def test_while_work_goes_on_frozen_sessions_are_looked_for_now_and_then(app, monkeypatch):
    """A pick passes over what a frozen session has locked, and meets other jobs instead."""
    seconds, looked, on = count(), 0, AsyncStore.on

    async def noted(store: Any, connection: Any, query: Query) -> Any:
        nonlocal looked
        looked += query.name == "end_frozen_sessions"
        return await on(store, connection, query)

    monkeypatch.setattr(AsyncStore, "on", noted)
    async with app:
        frozen = FrozenSessions(app.store, clock=lambda: float(next(seconds)))
        for _ in range(30):
            assert await frozen.end() is None
        assert looked == 0
        for _ in range(30):
            assert await frozen.end(busy=True) is None
        assert looked == 3


async def test_the_sessions_that_hold_a_lock_are_looked_at_soon_and_then_when_they_count_as_frozen(
    app, monkeypatch
):
    """One that froze before its lock was met is found by the first look, one that froze then 0.6 s later."""
    now, looks, on = 0.0, [], AsyncStore.on

    async def noted(store: Any, connection: Any, query: Query) -> Any:
        if query.name == "end_frozen_sessions":
            looks.append(now)
        return await on(store, connection, query)

    monkeypatch.setattr(AsyncStore, "on", noted)
    async with app:
        frozen = FrozenSessions(app.store, clock=lambda: now)
        while now < 10:
            frozen.met_lock()
            wait = await frozen.end()
            assert wait is not None
            now += wait
    assert 0.3 <= looks[0] <= 0.35
    assert any(0.6 <= look <= 0.7 for look in looks)
    assert len(looks) <= 24  # a lock that nobody can free is looked at twice a second
