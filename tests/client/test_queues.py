"""Queues: what they have, and what they are told to do."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from typing import Any

import pytest
from tests.client.actions import in_state

from kairos import JobState, Kairos, shapes
from kairos.cli.queues import count
from kairos.errors import BadRequest, NotFound
from kairos.operations import edit, queue
from kairos.operations.queues_and_workers import queues
from kairos.operations.stats import stats
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


async def test_a_misspelled_limit_is_refused_with_the_one_that_was_meant(app: Kairos) -> None:
    with pytest.raises(BadRequest, match=r"A queue has no limit 'concurency'\. Did you mean 'concurrency'\?"):
        await app.limit("q", concurency=3)  # type: ignore[call-arg]
    assert await app.queues() == []


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


async def test_a_backlog_is_counted_so_far_and_no_further_and_hides_no_other_queue(
    app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["kairos.operations.queues_and_workers"], "MOST_COUNTED", 1000)
    echo = app.action("echo")
    await app.enqueue_many(echo.options(queue="busy").call(1) for _ in range(1200))
    await app.enqueue_many(echo.options(queue="busy", delay="1h", priority=-5).call(1) for _ in range(1100))
    await echo.options(queue="small").enqueue(1)
    busy, small = await app.queues()
    assert (busy.name, busy.pending, busy.scheduled) == ("busy", 1000, 1000)
    assert sorted(busy.at_least) == ["pending", "scheduled"]
    assert (small.name, small.pending, small.at_least) == ("small", 1, ())
    assert (await app.run(queue("busy"))).at_least == busy.at_least
    seen = await app.run(stats())
    assert [(each.name, each.pending) for each in seen.queues] == [("busy", 1000), ("small", 1)]
    assert (seen.states["pending"], seen.at_least) == (1001, ("scheduled", "pending"))
    assert shapes.document(busy)["atLeast"] == busy.at_least
    assert (count(busy, "pending"), count(small, "pending")) == ("1000+", "1")


async def test_a_count_that_is_cut_off_is_the_same_whatever_other_jobs_come_and_go(
    app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["kairos.operations.queues_and_workers"], "MOST_COUNTED", 4000)
    echo = app.action("echo")
    await app.enqueue_many(echo.options(queue="busy", delay="1h").call(1) for _ in range(2600))
    await app.cancel((await echo.options(queue="mail").enqueue(1)).id)
    seen = [(await app.run(stats())).states["scheduled"]]
    for options in ({"queue": "mail"}, {"queue": "busy"}, {"queue": "busy", "priority": 3}):
        job = await echo.options(**options).enqueue(1)
        seen.append((await app.run(stats())).states["scheduled"])
        await app.cancel(job.id)
        seen.append((await app.run(stats())).states["scheduled"])
    assert seen == [2000] * 7


# Jobs of a queue, in the order in which all jobs of their kind would be read: by action, key or lease.
FILLED = """
insert into kairos.gen_durable
  (fsm, step, queue, eligible_at, partition_key, held, inserted_at, updated_at)
select $1, 'run', $1, now() + case when n % 2 = 0 and $3 then interval '1 h' else '-1 h' end,
  case when $3 then $1 end, $3, now(), now()
from generate_series(1, $2::int) n
"""
CLAIMED = """
update kairos.gen_durable set status = 'executing', lease = 1, started_at = now(), locked_by = 'w',
  lease_expires_at = now() + case queue when 'a' then interval '1 h' else '2 h' end
"""
PARKED = """
update kairos.gen_durable set status = 'awaiting_signal', locked_by = null, lease_expires_at = null, awaits = '{go}'
"""


@pytest.mark.parametrize(
    ("moves", "counts", "at_least"),
    [
        ([CLAIMED, PARKED], {"waiting": 1000}, ["waiting"]),
        ([CLAIMED], {"running": 2200}, []),
        ([], {"pending": 1000, "scheduled": 1000}, ["pending", "scheduled"]),
    ],
    ids=["waiting", "running", "held"],
)
async def test_a_backlog_of_what_is_in_no_line_hides_no_other_queue_either(
    app: Kairos,
    monkeypatch: pytest.MonkeyPatch,
    moves: list[str],
    counts: dict[str, int],
    at_least: list[str],
) -> None:
    monkeypatch.setattr(sys.modules["kairos.operations.queues_and_workers"], "MOST_COUNTED", 1000)
    async with app.store.connection() as connection:
        for name, jobs in (("a", 2200), ("b", 1)):
            await connection.execute(FILLED, name, jobs, not moves)
        for move in moves:
            await connection.execute(move)
    full, small = await app.queues()
    assert (full.name, {state: getattr(full, state) for state in counts}) == ("a", counts)
    assert sorted(full.at_least) == at_least
    assert (small.name, small.at_least) == ("b", ())
    assert small.scheduled + small.pending + small.running + small.waiting == 1
    assert [await app.run(queue(name)) for name in ("a", "b")] == [full, small]
    assert await app.run(queues(after="a", limit=1)) == [small]
    for name in ("0", "ab", "c"):
        with pytest.raises(NotFound):
            await app.run(queue(name))


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
        await app.result(job.id, timeout=60)
        (worker,) = await app.workers()
        assert (worker.id[:2], worker.concurrency, sorted(worker.queues)) == (
            "w-",
            7,
            ["a", "kairos", "mail"],
        )
        assert set(worker.actions) == {"echo", "fail", "kairos.chain", "kairos.webhook", "send", "waiter"}
    assert await app.workers() == []


async def test_two_workers_of_one_name_are_told_apart(app: Kairos) -> None:
    async with app.worker(name="twin", poll=0.1) as one, app.worker(name="twin", poll=0.1) as other:
        while len(found := await app.workers()) < 2:
            await asyncio.sleep(0.02)
        assert {worker.id for worker in found} == {one.name, other.name}
        assert all(worker.id.startswith("twin-") for worker in found)


async def test_a_worker_that_is_started_again_is_not_drained_because_its_predecessor_was(app: Kairos) -> None:
    """The predecessor was asked to leave, and killed before it could take its row along."""
    async with app.worker(name="mailer", poll=0.1) as first:
        while not await app.workers():
            await asyncio.sleep(0.02)
    async with app.store.connection() as connection:
        await connection.execute(
            """insert into kairos.workers (id, host, pid, queues, actions, concurrency, started_at, seen_at, drain_at)
               select name, 'box', 1, '{}', '{}', 1, now(), now(), now() from unnest($1::text[]) as name""",
            [first.name, "mailer"],
        )
    async with app.worker(name="mailer", poll=0.1) as second:
        job = await app.action("send").enqueue(1)
        await app.result(job.id, timeout=60)
        assert {worker.id: worker.drain_at is not None for worker in await app.workers()} == {
            first.name: True,
            "mailer": True,
            second.name: False,
        }
        assert not second.left.is_set()


async def test_the_queue_of_kairos_itself_takes_no_other_jobs(app: Kairos) -> None:
    """Every worker of every app serves it, and a backlog there would keep alarms from being told."""
    job = await app.action("send").options(delay="1h").enqueue(1)
    for ask in (
        lambda: app.job(name="greedy", queue="kairos")(lambda: None),
        lambda: app.action("send").options(queue="kairos").enqueue(1),
        lambda: app.enqueue_many([app.action("send").options(queue="kairos").call(1)]),
        lambda: app.schedules.add("often", "every hour", app.action("send").options(queue="kairos").call(1)),
        lambda: app.run(edit(job.id, {"queue": "kairos"})),
    ):
        with pytest.raises(BadRequest, match="is for Kairos' own jobs") as refused:
            await ask()
        assert refused.value.field == "queue"
    assert [each.queue for each in await app.jobs()] == ["mail"]
    assert await app.schedules.list() == []
