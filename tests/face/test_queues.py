"""Queues: what they have, and what they are told to do."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.face.actions import in_state

from kairos import JobState, Kairos
from kairos.errors import BadRequest
from kairos.testing import drain


async def test_a_queue_counts_its_live_jobs_by_state(app: Kairos) -> None:
    for state in reversed(JobState):  # what is in line would be drained by the states after it
        await in_state(app, state, queue="q")
    (queue,) = await app.queues()
    assert (queue.name, queue.scheduled, queue.pending) == ("q", 1, 1)
    assert (queue.running, queue.waiting) == (1, 1)


async def test_queues_are_those_with_work_or_settings_by_name(app: Kairos) -> None:
    assert await app.queues() == []
    await app.pause("z")
    await app.action("send").enqueue(1)
    await app.action("echo").options(queue="a").enqueue()
    assert [(queue.name, queue.pending) for queue in await app.queues()] == [("a", 1), ("mail", 1), ("z", 0)]


async def test_a_paused_queue_gives_nothing_until_it_is_resumed(app: Kairos) -> None:
    job = await app.action("send").enqueue(1)
    other = await app.action("echo").enqueue()
    paused = await app.pause("mail")
    assert await drain(app) == 1
    assert [(await app.get(each.id)).state for each in (job, other)] == ["pending", "success"]
    assert (await app.pause("mail")).paused_at == paused.paused_at
    assert (await app.resume("mail")).paused_at is None
    assert await drain(app) == 1


async def test_settings_are_kept_and_each_is_changed_by_itself(app: Kairos) -> None:
    limited = await app.limit(
        "q", concurrency=3, rate=(100, "1m"), key_concurrency=2, key_rate=(1, timedelta(days=2))
    )
    assert (limited.concurrency, limited.rate_limit, limited.rate_period) == (3, 100, timedelta(minutes=1))
    assert (limited.key_concurrency, limited.key_rate_limit) == (2, 1)
    assert limited.key_rate_period == timedelta(days=2)
    paused = await app.pause("q")
    assert (paused.concurrency, paused.rate_limit, paused.key_concurrency) == (3, 100, 2)
    lifted = await app.limit("q", concurrency=5)
    assert (lifted.concurrency, lifted.rate_limit, lifted.key_concurrency) == (5, None, 1)
    assert lifted.paused_at is not None
    assert await app.queues() == [lifted]


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        ({"concurrency": 0}, "concurrency"),
        ({"concurrency": 32768}, "concurrency"),
        ({"concurrency": 1.5}, "concurrency"),
        ({"concurrency": "3"}, "concurrency"),
        ({"key_concurrency": 0}, "key_concurrency"),
        ({"key_concurrency": True}, "key_concurrency"),
        ({"rate": (0, 1)}, "rate"),
        ({"rate": (1, 0)}, "rate"),
        ({"rate": (1, -1)}, "rate"),
        ({"rate": (1.5, 1)}, "rate"),
        ({"rate": (2**31, 1)}, "rate"),
        ({"rate": 5}, "rate"),
        ({"rate": (1,)}, "rate"),
        ({"rate": "5/m"}, "rate"),
        ({"key_rate": (1, "soon")}, "key_rate"),
    ],
    ids=str,
)
async def test_a_limit_that_makes_no_sense_is_refused(
    app: Kairos, limits: dict[str, Any], field: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        await app.limit("q", **limits)
    assert refused.value.field == field
    assert await app.queues() == []


@pytest.mark.parametrize("name", ["", None, 5, "a\x00b", "\ud800"])
async def test_a_queue_needs_a_name(app: Kairos, name: Any) -> None:
    for ask in (app.pause, app.resume, app.limit):
        with pytest.raises(BadRequest) as refused:
            await ask(name)
        assert refused.value.field == "queue"


async def test_the_workers_that_are_there_are_listed(app: Kairos) -> None:
    assert await app.workers() == []
    async with app.worker(queues=["mail", "a"], concurrency=7, name="w", poll=0.1):
        job = await app.action("send").enqueue(1)
        await app.result(job.id, timeout=20)
        (worker,) = await app.workers()
        assert (worker.id, worker.concurrency, sorted(worker.queues)) == ("w", 7, ["a", "kairos", "mail"])
        assert set(worker.actions) == {"echo", "fail", "kairos.webhook", "send", "waiter"}
    assert await app.workers() == []
