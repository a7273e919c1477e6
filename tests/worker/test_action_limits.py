"""Limits that an action declares hold over all workers: they are those of a queue of its own."""

from __future__ import annotations

import asyncio

import pytest
from tests.worker.world import ended

from kairos import Context, Kairos
from kairos.errors import BadDefinition, BadRequest


async def test_no_more_jobs_of_an_action_run_at_once_than_it_declares(app: Kairos) -> None:
    running: set[int] = set()
    most = []

    @app.job(concurrency=2)
    async def report(ctx: Context) -> None:
        running.add(ctx.id)
        most.append(len(running))
        await asyncio.sleep(0.02)
        running.discard(ctx.id)

    @app.job
    async def other() -> None: ...

    async with app, app.worker(poll=0.1), app.worker(poll=0.1):
        jobs = await app.enqueue_many(report.call() for _ in range(8))
        beside = await other.enqueue()
        for job in (*jobs, beside):
            assert (await ended(app, job.id)).state == "success"
        assert (jobs[0].queue, beside.queue) == ("report", "default")
    assert max(most) <= 2


async def test_a_declared_rate_is_that_of_its_queue_and_leaves_its_other_settings_alone(app: Kairos) -> None:
    @app.job(queue="api", rate=(5, "1m"))
    async def call_api() -> None: ...

    async with app:
        await app.limit("api", key_concurrency=3, concurrency=7)
        await app.pause("api")
        await app.synchronise()
        (queue,) = [queue for queue in await app.queues() if queue.name == "api"]
    assert (queue.concurrency, queue.rate_limit, queue.key_concurrency) == (None, 5, 3)
    assert queue.paused_at is not None


async def test_versions_of_an_action_share_its_limits(app: Kairos) -> None:
    @app.job(name="report", version=1, concurrency=1)
    async def first() -> None: ...

    @app.job(name="report", version=2, concurrency=2)
    async def second() -> None: ...

    async with app:
        await app.synchronise()
        assert [queue.concurrency for queue in await app.queues() if queue.name == "report"] == [2]


@pytest.mark.parametrize("limited_first", [True, False])
def test_a_queue_with_the_limits_of_an_action_takes_no_other(app: Kairos, limited_first: bool) -> None:
    async def limited() -> None: ...

    async def other() -> None: ...

    def declare() -> None:
        app.job(queue="api", concurrency=2)(limited)

    if limited_first:
        declare()
    else:
        app.job(queue="api")(other)
    said = "The limits of 'limited' are those of its queue 'api', which 'other' uses too"
    with pytest.raises(BadDefinition, match=said):
        app.job(queue="api")(other) if limited_first else declare()


def test_wrong_limits_are_refused_where_they_are_declared(app: Kairos) -> None:
    for wrong, field in (
        ({"concurrency": 0}, "concurrency"),
        ({"rate": 5}, "rate"),
        ({"rate": (1, "x")}, "rate"),
    ):
        with pytest.raises(BadRequest, match=field):
            app.job(name="act", **wrong)(lambda: None)  # type: ignore[call-overload]
