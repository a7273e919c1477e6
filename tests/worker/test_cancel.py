"""Cancel before, during and after a run; a request that a step ignores holds back whatever would go on."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from tests.worker.world import ended, fetch, reaches, until, verbs, working

from kairos import Await, Context, Done, InvalidTransition, Next, Replay, Stop, step
from kairos.testing import drain


async def test_a_job_cancelled_before_it_runs_never_runs(app):
    ran = []

    @app.job
    async def never(number: int) -> None:
        ran.append(number)

    async with app:
        due, later = await never.enqueue(number=1), await never.options(delay=60).enqueue(number=2)
        for job in (due, later):
            assert (await app.cancel(job.id, reason="not needed")).state == "cancelled"
        assert await drain(app) == 0
        rows = [(await app.history(job.id))[-1] for job in (due, later)]
        assert [(row.verb, row.from_state, row.reason) for row in rows] == [
            ("cancel", "pending", "not needed"),
            ("cancel", "scheduled", "not needed"),
        ]
    assert ran == []


async def test_an_async_step_is_cancelled_at_its_next_await_and_may_clean_up(app):
    cleaned = asyncio.Event()

    @app.job
    async def patient() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            cleaned.set()

    async with working(app):
        job = await patient.enqueue()
        await reaches(app, job.id, "running")
        asked = await app.cancel(job.id, reason="customer called")
        assert asked.state == "running" and asked.cancel_requested_at is not None
        job = await ended(app, job.id)
        assert (job.state, job.cancel_reason, await verbs(app, job.id)) == (
            "cancelled",
            "customer called",
            ["yield"],
        )
        assert cleaned.is_set()


async def test_a_step_in_a_thread_is_told_and_decides_itself(app):
    begun: set[str] = set()
    asked = threading.Event()

    @app.job
    def thread(ctx: Context, how: str) -> str:
        begun.add(how)
        while not (asked.is_set() if how == "ignores" else ctx.cancel_requested):
            asked.wait(0.01)
        if how == "gives up":
            ctx.checkpoint()
        return "finished"

    async with working(app):
        jobs = {how: await thread.enqueue(how=how) for how in ("looks", "gives up", "ignores")}
        await until(lambda: begun == set(jobs))
        for job in jobs.values():
            await app.cancel(job.id)
        asked.set()
        found = {how: await ended(app, job.id) for how, job in jobs.items()}
    assert {how: (job.state, job.output) for how, job in found.items()} == {
        "looks": ("success", "finished"),
        "gives up": ("cancelled", None),
        "ignores": ("success", "finished"),
    }


async def test_a_checkpoint_lets_an_async_step_go_on_until_it_is_asked_to_stop(app):
    passed = []

    @app.job
    async def looping(ctx: Context) -> None:
        while True:
            await ctx.checkpoint()
            passed.append(ctx.cancel_requested)

    async with working(app):
        job = await looping.enqueue()
        await until(lambda: len(passed) > 3)
        await app.cancel(job.id)
        assert (await ended(app, job.id)).state == "cancelled"
    assert not any(passed)


async def test_a_cancel_whose_hint_is_lost_is_found_by_asking(app):
    @app.job
    async def patient() -> None:
        await asyncio.sleep(60)

    async with working(app):
        job = await patient.enqueue()
        await reaches(app, job.id, "running")
        await fetch(
            app, "update kairos.gen_durable set cancel_requested_at = kairos.now() where id = $1", job.id
        )
        assert (await ended(app, job.id)).state == "cancelled"


OUTCOMES: dict[str, Any] = {
    "next": Next("second"),
    "replay": Replay(),
    "await": Await("x"),
    "done": Done("finished"),
    "stop": Stop("broken"),
}


async def test_a_forged_notification_cancels_no_job_and_ends_no_worker(app):
    """Whoever is connected to the database may notify, and another schema has a job of the same number."""
    go_on = asyncio.Event()

    @app.job
    async def patient() -> str:
        await go_on.wait()
        return "unharmed"

    async with working(app) as worker:
        job, asked = await patient.enqueue(), await patient.enqueue()
        for each in (job, asked):
            await reaches(app, each.id, "running")
        for payload in (str(job.id), "9" * 5000, "-1", "no number", ""):
            await fetch(app, "select pg_notify('kairos_cancel', $1)", payload)
            await fetch(app, "select pg_notify('kairos', $1)", payload)
        await app.cancel(asked.id)  # its notification comes after those
        assert (await ended(app, asked.id)).state == "cancelled"
        assert not worker.executor.running[job.id].ctx.cancel_requested
        go_on.set()
        assert (await ended(app, job.id)).output == "unharmed"


async def test_a_request_turns_every_outcome_that_would_go_on_into_the_end_and_leaves_the_others(app):
    spawned = []

    @app.job
    async def child(case: str) -> None:
        spawned.append(case)

    @app.machine("deaf")
    class Deaf:
        @step(initial=True, to=["second"])
        async def first(self, ctx: Context) -> Any:
            await app.cancel(ctx.id)
            ctx.spawn(child.call(case=ctx.state["case"]))
            return OUTCOMES[ctx.state["case"]]

        @step(to=[])
        async def second(self, ctx: Context) -> Any:
            return Done("second")

    async with app:
        jobs = {case: await Deaf.enqueue(case=case) for case in OUTCOMES}
        await drain(app)
        found = {case: await app.get(job.id) for case, job in jobs.items()}
        assert {case: (job.state, job.output) for case, job in found.items()} == {
            "next": ("cancelled", None),
            "replay": ("cancelled", None),
            "await": ("cancelled", None),
            "done": ("success", "finished"),
            "stop": ("failed", None),
        }
        assert {case: (await verbs(app, job.id)) for case, job in jobs.items()} == {
            "next": ["yield"],
            "replay": ["yield"],
            "await": ["yield"],
            "done": ["done"],
            "stop": ["stop"],
        }
    assert spawned == ["done"]  # a job that ends cancelled or failed starts nothing more


async def test_an_error_after_a_request_ends_the_job_cancelled_and_is_not_retried(app):
    @app.job(retry=lambda error, ctx: Replay())
    async def fails(ctx: Context) -> None:
        await app.cancel(ctx.id)
        raise ValueError("on the way out")

    async with app:
        job = await fails.enqueue()
        assert await drain(app) == 1
        (row,) = await app.history(job.id)
        assert (row.verb, row.to_state, row.reason) == ("yield", "cancelled", "ValueError: on the way out")


async def test_a_finished_job_cannot_be_cancelled_and_says_what_it_is(app):
    @app.job
    async def quick() -> int:
        return 1

    async with app:
        job = await quick.enqueue()
        await drain(app)
        with pytest.raises(InvalidTransition, match="is success and cannot be cancelled"):
            await app.cancel(job.id)
        assert (await app.get(job.id)).output == 1


async def test_a_waiting_job_is_cancelled_at_once(app):
    @app.machine("waiter")
    class Waiter:
        @step
        async def wait(self, ctx: Context) -> Any:
            return Await("never")

    async with app:
        job = await Waiter.enqueue()
        await drain(app)
        assert (await app.cancel(job.id)).state == "cancelled"
        assert await verbs(app, job.id) == ["await", "cancel"]


async def test_a_step_that_will_not_end_does_not_keep_its_worker_from_leaving(app, monkeypatch):
    monkeypatch.setattr("kairos.worker.executor.CANCELLED_WITHIN", 0.1)
    started, enough = asyncio.Event(), asyncio.Event()

    @app.job
    async def stubborn() -> None:
        started.set()
        while not enough.is_set():
            try:
                await enough.wait()
            except asyncio.CancelledError:
                continue

    async with app:
        async with app.worker(grace=0.1):
            job = await stubborn.enqueue()
            await started.wait()
        enough.set()
        assert (await app.get(job.id)).state == "pending"
