"""Steps that run on a real Ray or Dask cluster: what they return, say and raise, and how they are stopped."""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import AsyncExitStack

import pytest
from tests.clusters.cluster_steps import pids
from tests.worker.world import ended, fetch, reaches, until, verbs, working

from kairos.worker import step_failures
from kairos.worker.clusters import pool, task

pytestmark = pytest.mark.timeout(300)


async def run(app, *calls):
    async with working(app, concurrency=20):
        jobs = await app.enqueue_many(calls)
        return [await ended_patiently(app, job.id) for job in jobs]


async def ended_patiently(app, job_id):
    """As `ended`: the first step also waits for the client of the cluster to start."""
    for _ in range(3):
        try:
            return await ended(app, job_id)
        except TimeoutError:
            continue
    return await ended(app, job_id)


async def released_because(app, job_id):
    """The reason of the first hand-back, once there is one."""

    async def reason():
        return next((row.reason for row in await app.history(job_id) if row.verb == "release"), None)

    for _ in range(3):
        try:
            return await until(reason)
        except TimeoutError:
            continue
    raise AssertionError(f"job {job_id} was never handed back")


async def lines(app, job_id):
    rows = await fetch(app, "select line from kairos.logs where job_id = $1 order by cursor", job_id)
    return [row["line"] for row in rows]


async def begun(folder, count=1):
    for _ in range(3):
        try:
            return await until(lambda: len(pids(folder)) >= count and pids(folder))
        except TimeoutError:
            continue
    raise AssertionError("the step never began")


async def test_a_step_on_a_cluster_runs_in_another_process_and_its_lines_and_progress_are_the_jobs(
    app, action
):
    async with working(app):
        job = await app.enqueue(action("square").call(number=7))
        job = await ended_patiently(app, job.id)
        assert (job.state, job.output["square"], job.output["attempt"]) == ("success", 49, 0), job.error
        assert job.output["pid"] != os.getpid()
        assert (await app.get(job.id)).progress == {"done": 1, "total": 2}
        assert await lines(app, job.id) == ["squaring", "printed"]
        assert await verbs(app, job.id) == ["done"]


async def test_lines_and_progress_come_while_the_step_runs(app, action, tmp_path):
    async with working(app):
        job = await app.enqueue(action("talk_then_wait").call(folder=str(tmp_path)))
        await begun(tmp_path)
        await until(lambda: lines(app, job.id))

        async def told():
            return (await app.get(job.id)).progress == {"done": 3, "total": 9}

        await until(told)
        (tmp_path / "go").touch()
        assert (await ended(app, job.id)).output == "went"


async def test_a_step_that_logs_faster_than_lines_are_stored_waits_and_loses_none(app, action):
    async with working(app):
        job = await app.enqueue(action("recite").call(lines=20_000))
        assert (await ended_patiently(app, job.id)).state == "success"
        assert await lines(app, job.id) == [str(number) for number in range(20_000)]


async def test_what_a_step_on_a_cluster_raises_is_answered_by_its_policy(app, action):
    (job,) = await run(app, action("wrong").call())
    assert (job.state, job.output, job.attempt) == ("success", 1, 1)


async def test_a_machine_takes_signals_and_spawns_children_on_a_cluster(app, action):
    async with working(app):
        job = await app.enqueue(action("collect").call())
        await reaches_patiently(app, job.id, "waiting")
        await app.signal(job.id, "item", {"n": 5})
        assert (await ended_patiently(app, job.id)).output == {"items": [5]}
        (child,) = await fetch(app, "select id from kairos.gen_durable where id <> $1", job.id)
        assert (await ended_patiently(app, child["id"])).output == 5


async def reaches_patiently(app, job_id, state):
    for _ in range(3):
        try:
            return await reaches(app, job_id, state)
        except TimeoutError:
            continue
    return await reaches(app, job_id, state)


async def test_a_result_too_large_a_value_that_cannot_be_sent_and_a_transaction_are_named_failures(
    app, action
):
    large, huge, lock, transact = await run(
        app,
        action("large").call(size=2 << 20),
        action("large").call(size=20 << 20),
        action("unreadable").call(),
        action("transact").call(),
    )
    assert {job.state for job in (large, huge, lock, transact)} == {"failed"}
    assert (large.error_code, huge.error_code) == ("BAD_VALUE", "BAD_VALUE")
    assert "20971" in huge.error and "16777216" in huge.error
    assert lock.error_code == "STEP_ERROR" and "pickle" in lock.error
    assert "a step on a cluster has none" in transact.error


async def test_an_error_with_a_message_too_large_to_come_back_is_still_that_error_in_words(app, action):
    (job,) = await run(app, action("complain").call(size=20 << 20))
    assert (job.state, job.error_code) == ("failed", "STEP_ERROR")
    assert job.error.startswith("StepError: ValueError: yyyy")


async def test_a_cancelled_step_ends_as_cancelled_and_stops_on_the_cluster(app, action, tmp_path):
    async with working(app):
        job = await app.enqueue(action("talk_then_wait").call(folder=str(tmp_path)))
        (pid,) = await begun(tmp_path)
        await app.cancel(job.id, reason="no longer wanted")
        assert (await ended(app, job.id)).state == "cancelled"
        if "ray" in job.action:
            await until(lambda: not is_alive(pid))


async def test_a_cancel_stops_only_its_own_step_where_several_workers_share_a_cluster(app, action, tmp_path):
    queues = ["first", "second", "third"]  # more than the processes that the tests' cluster of Dask has
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app)
        for queue in queues:
            await stack.enter_async_context(app.worker(queues=[queue], poll=0.1, grace=0.1))
        wait = action("talk_then_wait")
        jobs = [await app.enqueue(wait.options(queue=queue).call(folder=str(tmp_path))) for queue in queues]
        await begun(tmp_path, len(jobs))
        for number, job in enumerate(jobs):
            await app.cancel(job.id)
            await ended(app, job.id)
            states = [(await app.get(each.id)).state for each in jobs]
            assert states == ["cancelled"] * (number + 1) + ["running"] * (len(jobs) - number - 1)


async def test_a_step_that_runs_too_long_times_out_and_the_worker_goes_on(app, action, tmp_path):
    async with working(app):
        # The client's start is no part of the timeout below.
        first = await app.enqueue(action("square").call(number=1))
        await ended_patiently(app, first.id)
        job = await app.enqueue(action("hang").call(folder=str(tmp_path)))
        job = await ended(app, job.id)
        assert (job.state, job.error_code) == ("failed", "STEP_TIMEOUT")
        (tmp_path / "go").touch()
        again = await app.enqueue(action("square").call(number=3))
        assert (await ended_patiently(app, again.id)).output["square"] == 9


async def test_a_step_whose_process_is_lost_is_handed_back_and_runs_again_as_the_same_attempt(
    app, action, tmp_path
):
    (job,) = await run(app, action("die").call(folder=str(tmp_path), times=1))
    assert (job.state, job.output, job.attempt) == ("success", 2, 0)
    async with app:
        assert await verbs(app, job.id) == ["release", "done"]
        reason = (await app.history(job.id))[0].reason
    assert "lost step 'run'" in reason


async def test_a_step_that_kills_its_process_again_and_again_fails_by_name(
    app, action, tmp_path, monkeypatch
):
    monkeypatch.setattr(step_failures, "MOST_LOSSES", 2)
    (job,) = await run(app, action("die").call(folder=str(tmp_path), times=100))
    assert (job.state, job.error_code) == ("failed", "STEP_TASK_LOST")
    assert len(list(tmp_path.iterdir())) == 3


async def test_a_thousand_steps_at_once_need_no_thread_each(app, action, tmp_path):
    before = threading.active_count()
    async with working(app, concurrency=1000) as worker:
        await app.enqueue_many([action("hold").call(folder=str(tmp_path)) for _ in range(1000)])
        while len(worker.executor.running) < 1000:
            await asyncio.sleep(0.05)
        assert threading.active_count() - before < 20
        (tmp_path / "go").touch()
        while await fetch(app, "select from kairos.gen_durable where completed_at is null limit 1"):
            await asyncio.sleep(0.05)
        states = await fetch(app, "select status::text, count(*) from kairos.gen_durable group by 1")
    assert [tuple(row) for row in states] == [("done", 1000)]


async def test_a_worker_that_stops_hands_back_what_runs_on_the_cluster(app, action, tmp_path):
    async with working(app, grace=0.1):
        job = await app.enqueue(action("talk_then_wait").call(folder=str(tmp_path)))
        await begun(tmp_path)
    (tmp_path / "go").touch()
    async with app:
        assert (await app.get(job.id)).state == "pending"
        assert (await verbs(app, job.id))[-1] == "release"


async def test_a_node_with_another_version_hands_the_job_back_and_names_both(app, action, monkeypatch):
    monkeypatch.setattr(pool, "UNFIT_PAUSE", 0.2)
    with monkeypatch.context() as other:
        other.setattr(pool, "versions", lambda: task.versions() | {"Python": "3.9"})
        async with working(app):
            job = await app.enqueue(action("brief").call(number=3))
            reason = await released_because(app, job.id)
            assert "the worker has Python 3.9, and this node" in reason
    async with working(app):
        job = await ended_patiently(app, job.id)
        assert (job.output, job.attempt) == (3, 0)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
