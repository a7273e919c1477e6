"""Steps in the event loop and in threads: where they run, what they may raise, how long they may take."""

from __future__ import annotations

import asyncio
import io
import sys
import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from tests.captured_logs import capture_logs
from tests.worker.world import ended, reaches, until, verbs, working

from kairos import Await, Backoff, Context, Done, Kairos, Next, Replay, Stop, step
from kairos.errors import StepTimeout
from kairos.testing import Clock, drain


async def test_an_async_step_runs_in_the_loop_and_a_plain_one_in_a_thread(app):
    @app.job
    async def here() -> str:
        return threading.current_thread().name

    @app.job
    def there() -> str:
        return threading.current_thread().name

    async with working(app):
        jobs = [await here.enqueue(), await there.enqueue()]
        names = [(await ended(app, job.id)).output for job in jobs]
    assert names[0] == threading.current_thread().name
    assert names[1].startswith("kairos-step")


async def test_whatever_a_step_in_a_thread_raises_ends_its_job_and_not_the_worker(app):
    errors = [SystemExit(3), KeyboardInterrupt(), MemoryError(), asyncio.CancelledError(), GeneratorExit()]

    @app.job
    def broken(number: int) -> None:
        raise errors[number]

    @app.job
    def exhausted() -> int:
        return next(iter([]))

    async with working(app, concurrency=2):
        jobs = [await broken.enqueue(number=n) for n in range(len(errors))]
        codes = [(await ended(app, job.id)).error_code for job in jobs]
        assert codes == ["SystemExit", "KeyboardInterrupt", "MemoryError", "STEP_ERROR", "GeneratorExit"]
        last = await ended(app, (await exhausted.enqueue()).id)
        assert last.state == "failed" and "StopIteration" in last.error


async def test_a_log_that_cannot_be_written_costs_the_line_and_not_the_job(app, monkeypatch):
    @app.job(retry=Backoff(attempts=2, base=0))
    async def fragile(ctx: Context) -> str:
        if ctx.attempt == 0:
            raise ValueError("half a character: \ud800")
        return "done"

    class FullDisk(io.TextIOBase):
        def write(self, text: str) -> int:
            raise OSError("the disk is full")

    async with working(app) as worker:
        monkeypatch.setattr(sys, "stdout", FullDisk())
        worker.picker.failed(OSError())
        assert (await ended(app, (await fragile.enqueue()).id)).output == "done"
        monkeypatch.undo()


async def test_an_error_is_logged_without_the_locals_of_its_step(app):
    @app.job
    async def leaky(password: str) -> None:
        hidden = password + "!"
        raise ValueError("no" + hidden[:0])

    async with app:
        job = await leaky.enqueue(password="hunter2")
        with capture_logs() as told:
            await drain(app)
        assert (await app.get(job.id)).state == "failed"
    assert "step failed" in str(told)
    assert "hunter2" not in str(told)


TIMEOUT = 0.2


async def test_a_late_step_is_answered_by_handle_as_a_timeout_wherever_it_runs(app):
    met: dict[str, BaseException] = {}
    seen = threading.Event()
    cancelled = asyncio.Event()

    def answer(error: Exception, ctx: Context) -> Any:
        met[ctx.action] = error
        return Done("late") if ctx.attempt else Replay()

    @app.job(timeout=TIMEOUT, retry=answer)
    async def slow_async() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    @app.job(timeout=TIMEOUT, retry=answer)
    def slow_thread(ctx: Context) -> None:
        while not ctx.cancel_requested:
            time.sleep(0.005)
        seen.set()

    @app.job(timeout=TIMEOUT)
    async def its_own() -> None:
        raise TimeoutError("a socket's")

    async with working(app):
        jobs = [await slow_async.enqueue(), await slow_thread.enqueue()]
        assert [(await ended(app, job.id)).output for job in jobs] == ["late", "late"]
        assert [await verbs(app, job.id) for job in jobs] == [["fail", "retry", "done"]] * 2
        other = await ended(app, (await its_own.enqueue()).id)
    assert {type(error) for error in met.values()} == {StepTimeout}
    assert "'run'" in str(met["slow_async"]) and "0.2 s" in str(met["slow_async"])
    assert cancelled.is_set() and seen.is_set()
    assert (other.error_code, other.error) == ("TimeoutError", "TimeoutError: a socket's")


async def test_a_thread_that_never_ends_takes_no_place_from_later_steps(app):
    release = threading.Event()

    @app.job(timeout=TIMEOUT)
    def stuck() -> None:
        release.wait(60)

    @app.job
    def quick() -> str:
        return "ran"

    try:
        async with working(app, concurrency=2):
            stuck_jobs = [await stuck.enqueue() for _ in range(4)]
            assert {(await ended(app, job.id)).error_code for job in stuck_jobs} == {"STEP_TIMEOUT"}
            assert (await ended(app, (await quick.enqueue()).id)).output == "ran"
    finally:
        release.set()


async def test_a_cancellation_that_a_step_swallowed_does_not_reach_the_next_step_of_its_lane(app):
    @app.job
    async def stubborn(ctx: Context) -> str:
        while not ctx.cancel_requested:
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                break
        return "finished anyway"

    @app.job
    async def heir() -> int:
        task = asyncio.current_task()
        assert task is not None
        return task.cancelling()  # what timeouts and task groups in it would trip over

    async with working(app, concurrency=1):
        job = await stubborn.enqueue()
        await reaches(app, job.id, "running")
        await app.cancel(job.id)
        assert (await ended(app, job.id)).output == "finished anyway"
        assert (await ended(app, (await heir.enqueue()).id)).output == 0


async def test_a_thousand_sleeping_steps_run_at_once_in_one_worker(app):
    begun = 0
    together = asyncio.Event()

    @app.job
    async def wait() -> None:
        nonlocal begun
        begun += 1
        if begun == 1000:
            together.set()
        await together.wait()

    async with working(app, concurrency=1000):
        jobs = await app.enqueue_many([wait.call() for _ in range(1000)])
        await until(together.is_set)
        for job in (jobs[0], jobs[-1]):
            assert (await ended(app, job.id)).state == "success"


async def test_handle_may_answer_an_error_with_each_outcome(app):
    class Woken(Exception): ...

    answers: dict[str, Any] = {
        "done": Done({"saved": True}),
        "stop": Stop("given up"),
        "next": Next("other"),
        "replay": Replay(delay=10),
        "await": Await("help"),
    }

    @app.machine("careful")
    class Careful:
        @step(initial=True, to=["other"])
        async def first(self, ctx: Context) -> Any:
            if ctx.attempt or ctx.take("help"):
                return Done("second try")
            raise Woken("trouble")

        @step(to=[])
        async def other(self, ctx: Context) -> Any:
            return Done("other")

        def handle(self, error: Exception, ctx: Context) -> Any:
            assert isinstance(error, Woken) and ctx.step == "first"
            return answers[ctx.state["case"]]

    async with app:
        clock = await Clock(app).install()
        await clock.freeze()
        jobs = {case: await Careful.enqueue(case=case) for case in answers}
        await drain(app)
        await app.signal(jobs["await"].id, "help")
        await clock.move(10)
        await drain(app)
        found = {case: await app.get(job.id) for case, job in jobs.items()}
        assert {case: job.output for case, job in found.items() if job.state == "success"} == {
            "done": {"saved": True},
            "next": "other",
            "replay": "second try",
            "await": "second try",
        }
        assert (found["stop"].state, found["stop"].error_code) == ("failed", "Woken")
        assert "given up" in found["stop"].error and "trouble" in found["stop"].error
        assert {case: await verbs(app, job.id) for case, job in jobs.items()} == {
            "done": ["done"],
            "stop": ["stop"],
            "next": ["next", "done"],
            "replay": ["fail", "retry", "done"],
            "await": ["await", "wake", "done"],
        }
        told = await app.history(jobs["done"].id)
        assert told[0].reason == "Woken: trouble"  # a rescued error is still in the history


@pytest.mark.parametrize("broken", [ValueError("again"), SystemExit(1), asyncio.CancelledError()])
async def test_a_handle_that_raises_ends_its_job_and_not_the_worker(app, broken):
    def answer(error: Exception, ctx: Context) -> Any:
        raise broken

    @app.job(retry=answer)
    async def subject() -> None:
        raise KeyError("first")

    async with app:
        job = await subject.enqueue()
        await drain(app)
        job = await app.get(job.id)
        assert (job.state, job.error_code) == ("failed", type(broken).__name__)


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
async def test_a_handle_that_answers_nothing_fails_the_job_and_tells_the_first_error(app):
    @app.job(retry=lambda error, ctx: None)
    async def subject() -> None:
        raise KeyError("first")

    async with app:
        job = await subject.enqueue()
        await drain(app)
        found = await app.get(job.id)
        assert (found.state, found.error_code) == ("failed", "BAD_OUTCOME")
        assert "first" in found.error


async def test_versions_live_side_by_side_and_a_job_ends_on_the_one_it_began_with(database):
    def build(*versions: int) -> Kairos:
        app = Kairos(database)
        for version in versions:

            @app.machine("order", version=version, run_ahead=False)
            class Order:
                number = version

                @step(initial=True, to=["second"])
                async def first(self, ctx: Context) -> Any:
                    if ctx.take("go"):
                        return Next("second")
                    return Await("go", state={"seen": [self.number]})

                @step(to=[])
                async def second(self, ctx: Context) -> Any:
                    return Done([*ctx.state["seen"], self.number, ctx.version])

        return app

    async with build(1) as old:
        job = await old.action("order").enqueue()
        await drain(old)
    async with build(1, 2) as both:
        young = await both.action("order").enqueue()
        await drain(both)
        for each in (job, young):
            await both.signal(each.id, "go")
        await drain(both)
        assert [(await both.get(each.id)).output for each in (job, young)] == [[1, 1, 1], [2, 2, 2]]


async def test_a_job_whose_action_or_version_no_worker_here_knows_waits_and_is_not_failed(database):
    stranger, late = Kairos(database), Kairos(database)

    @stranger.job
    async def known() -> str:
        return "ran"

    @late.job
    async def unknown() -> str:
        return "at last"

    @late.job(name="known", version=2)
    async def newer() -> str:
        return "newer"

    async with late, stranger:
        clock = await Clock(late).install()
        await clock.freeze()
        jobs = [await unknown.enqueue(), await newer.enqueue(), await known.enqueue()]
        await drain(stranger)
        found = [await late.get(job.id) for job in jobs]
        assert [(job.state, job.attempt) for job in found] == [
            ("scheduled", 0),
            ("scheduled", 0),
            ("success", 0),
        ]
        (released,) = await late.history(jobs[0].id)
        assert released.verb == "release" and "'unknown' version 1" in released.reason
        assert await drain(late) == 0  # nobody may spin on it
        await clock.move(timedelta(seconds=10))
        await drain(late)
        assert [(await late.get(job.id)).output for job in jobs] == ["at last", "newer", "ran"]
