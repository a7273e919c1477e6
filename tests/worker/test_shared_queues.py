"""Two apps, or two versions of one, on the same queue: a worker picks what it knows and leaves the rest alone."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine_statements import Hand, done
from tests.worker.world import ended, fetch, until, verbs, working

from kairos import Done, Kairos, step


def knowing(app: Kairos, *known: tuple[str, int], poll: float = 1.0) -> Hand:
    """A worker without loops that knows these actions and versions."""
    return Hand(app.store, "w", ["default"], poll=poll, known=known)


@pytest.fixture
def other(database: str) -> Kairos:
    """Another program on the same database, whose worker does not run."""
    other = Kairos(database)

    @other.job
    async def foreign(n: int = 0) -> None: ...

    return other


async def test_jobs_of_another_app_ahead_in_the_queue_are_neither_touched_nor_waited_for(app, other):
    @app.job
    async def own() -> None: ...

    async with other:
        theirs = await other.enqueue_many(other.action("foreign").call(n) for n in range(450))
        async with working(app) as worker:
            job = await own.enqueue()
            assert (await ended(app, job.id)).state == "success"
            assert await verbs(app, theirs[0].id) == []
            assert worker.executor.unknown.names() == ["foreign@1"]
        states = {(await other.get(job.id)).state for job in theirs[::50]}
        assert states == {"pending"}
        async with other.worker(poll=0.1):
            for job in theirs[::50]:
                assert (await ended(other, job.id)).state == "success"


async def test_workers_of_two_versions_each_run_their_own(app, database):
    newer = Kairos(database)

    def machine(on: Kairos, version: int) -> Any:
        @on.machine("order", version=version)
        class Order:
            @step
            async def go(self, ctx: Any) -> Any:
                return Done({"by": version})

        return Order

    machine(app, 1)
    machine(newer, 2)
    async with app, newer:
        old = [await app.action("order").enqueue() for _ in range(3)]
        new = [await newer.action("order").enqueue() for _ in range(3)]
        async with newer.worker(poll=0.1):
            for job in new:
                assert (await ended(newer, job.id)).output == {"by": 2}
            assert [await verbs(app, job.id) for job in old] == [[]] * 3
            async with app.worker(poll=0.1):
                for job in old:
                    assert (await ended(app, job.id)).output == {"by": 1}
        assert [await verbs(app, job.id) for job in old + new] == [["done"]] * 6


async def test_in_a_shared_queue_what_is_known_is_picked_in_its_order(app, other):
    @app.job
    async def first() -> None: ...

    @app.job
    async def second() -> None: ...

    async with app, other:
        await other.enqueue_many(other.action("foreign").call(n) for n in range(20))
        calls = [(action, priority) for action in (first, second) for priority in (3, -1, 0)]
        jobs = [await action.options(priority=priority).enqueue() for action, priority in calls]
        hand = knowing(app, ("first", 1), ("second", 1))
        await hand.picker.refresh()
        ran = [claim.id for claim in await hand.pick(room=10)]  # it meets the others first
        while claims := await hand.pick(room=2):
            ran += [claim.id for claim in claims]
            assert await hand.commit(*map(done, claims)) == len(claims)
        assert ran == [job.id for job in sorted(jobs, key=lambda job: (job.priority, job.id))]
        assert await fetch(app, "select from kairos.gen_durable where fsm = 'foreign' and lease > 0") == []


async def test_a_queue_that_holds_only_jobs_of_others_is_not_asked_again_and_again(app, other):
    @app.job
    async def own() -> None: ...

    async with app, other:
        await other.enqueue_many(other.action("foreign").call(n) for n in range(5))
        hand = knowing(app, ("own", 1), poll=3600.0)
        while await hand.picker.tick() == 0.0:
            pass
        assert await hand.picker.tick() > 1.0


async def test_a_job_behind_anothers_in_the_line_of_a_key_waits_for_it(app, other):
    @app.job
    async def own() -> None: ...

    async with app, other:
        head = await other.action("foreign").options(key="k").enqueue()
        behind = await own.options(key="k").enqueue()
        async with app.worker(poll=0.1) as worker:
            await until(lambda: worker.executor.unknown.names())
            assert await verbs(app, behind.id) == []
            async with other.worker(poll=0.1):
                assert (await ended(other, head.id)).state == "success"
                assert (await ended(app, behind.id)).state == "success"
