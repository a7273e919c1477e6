"""Signals as a step meets them: awaited by several names, with a deadline, taken, and consumed by the commit alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.worker.world import ended, verbs, working

from kairos import Await, Backoff, Context, Done, Next, Replay, step
from kairos.testing import Clock, drain


async def test_an_await_of_several_names_is_woken_by_any_of_them_and_by_no_other(app):
    @app.machine("order")
    class Order:
        @step
        async def wait(self, ctx: Context) -> Any:
            for name in ("paid", "refused"):
                if signal := ctx.take(name):
                    return Done([name, signal.payload])
            return Await("paid", "refused")

    async with app:
        jobs = [await Order.enqueue() for _ in range(3)]
        await drain(app)
        answers = [
            await app.signal(job.id, name, {"n": name})
            for job, name in zip(jobs, ("paid", "refused", "other"), strict=True)
        ]
        assert answers == ["woke", "woke", "delivered"]
        await drain(app)
        assert [(await app.get(job.id)).output for job in jobs] == [
            ["paid", {"n": "paid"}],
            ["refused", {"n": "refused"}],
            None,
        ]
        assert (await app.get(jobs[2].id)).state == "waiting"


async def test_a_deadline_leads_to_the_step_it_named_or_back_to_the_same_one_which_can_tell(app):
    @app.machine("bounded")
    class Bounded:
        @step(initial=True, to=["other"])
        async def wait(self, ctx: Context) -> Any:
            if ctx.timed_out:
                return Done(["same", list(ctx.timed_out)])
            return Await("a", "b", timeout="10s", then=ctx.state["then"])

        @step(to=[])
        async def other(self, ctx: Context) -> Any:
            return Done(["other", list(ctx.timed_out)])

    async with app:
        clock = await Clock(app).install()
        await clock.freeze()
        jobs = [await Bounded.enqueue(then=then) for then in ("other", None)]
        await drain(app)
        await clock.move(timedelta(seconds=10, microseconds=-1))
        assert await drain(app) == 0
        await clock.move(timedelta(microseconds=1))
        await drain(app)
        assert [(await app.get(job.id)).output for job in jobs] == [
            ["other", ["a", "b"]],
            ["same", ["a", "b"]],
        ]
        assert [await verbs(app, job.id) for job in jobs] == [["await", "timeout", "done"]] * 2
        (row,) = [row for row in await app.history(jobs[0].id) if row.verb == "timeout"]
        assert row.reason == "no signal a or b came in time"


async def test_a_step_that_fails_consumes_nothing_and_finds_its_signal_again(app):
    seen = []

    @app.machine("fragile", retry=Backoff(attempts=3, base=0, jitter=0))
    class Fragile:
        @step
        async def wait(self, ctx: Context) -> Any:
            signal = ctx.take("go")
            if signal is None:
                return Await("go")
            seen.append(signal.payload["n"])
            if ctx.attempt < 2:
                raise ValueError("not yet")
            return Done(ctx.attempt)

    async with app:
        job = await Fragile.enqueue()
        await app.signal(job.id, "go", {"n": 1})
        await drain(app)
        assert (await app.get(job.id)).output == 2
        (signal,) = await app.signals(job.id)
        assert signal.consumed_at is not None
    assert seen == [1, 1, 1]


async def test_what_was_taken_is_consumed_with_any_outcome_and_what_was_not_stays(app):
    @app.machine("taker", run_ahead=False)
    class Taker:
        @step(initial=True, to=["more"])
        async def first(self, ctx: Context) -> Any:
            ctx.take("a")
            return Replay() if ctx.attempt == 0 else Next("more")

        @step(to=[])
        async def more(self, ctx: Context) -> Any:
            return Done([signal.payload["n"] for signal in ctx.inbox])

    async with app:
        job = await Taker.options(delay=60).enqueue()
        for number in range(4):
            await app.signal(job.id, "a", {"n": number})
        await app.run_now(job.id)
        await drain(app)
        assert (await app.get(job.id)).output == [2, 3]
        taken = [signal.consumed_at is not None for signal in await app.signals(job.id)]
        assert taken == [True, True, False, False]


async def test_a_signal_sent_twice_is_one_signal_also_after_it_was_consumed(app):
    @app.machine("counter")
    class Counter:
        @step
        async def wait(self, ctx: Context) -> Any:
            count = ctx.state.get("count", 0)
            while ctx.take("tick"):
                count += 1
            return Done(count) if ctx.take("stop") else Await("tick", "stop", state={"count": count})

    async with app:
        job = await Counter.enqueue()
        await drain(app)
        assert await app.signal(job.id, "tick", dedup_key="evt-1") == "woke"
        assert await app.signal(job.id, "tick", dedup_key="evt-1") == "duplicate"
        await drain(app)
        assert await app.signal(job.id, "tick", dedup_key="evt-1") == "duplicate"  # it is consumed by now
        assert await app.signal(job.id, "tick", dedup_key="evt-2") == "woke"
        await app.signal(job.id, "stop")
        await drain(app)
        assert (await app.get(job.id)).output == 2


async def test_an_await_for_a_name_whose_signals_the_step_was_shown_and_left_does_not_spin(app):
    runs = []

    @app.machine("picky")
    class Picky:
        @step
        async def wait(self, ctx: Context) -> Any:
            runs.append(len(ctx.inbox))
            return Done(len(ctx.inbox)) if len(ctx.inbox) == 2 else Await("x")

    async with app:
        job = await Picky.enqueue()
        await app.signal(job.id, "x")
        assert await drain(app, limit=5) == 1
        await app.signal(job.id, "x")
        await drain(app, limit=5)
        assert (await app.get(job.id)).output == 2
    assert runs == [1, 2]


async def test_a_signal_that_comes_while_the_step_runs_wakes_the_park_that_follows(app):
    @app.machine("racer")
    class Racer:
        @step(initial=True, to=["second"])
        async def first(self, ctx: Context) -> Any:
            await app.signal(ctx.id, "go", {"sent": "meanwhile"})
            return Next("second")

        @step(to=[])
        async def second(self, ctx: Context) -> Any:
            # On one claim the inbox is the one of the pick: the park must look again.
            signal = ctx.take("go")
            return Done(signal.payload) if signal else Await("go")

    async with working(app):
        job = await Racer.enqueue()
        assert (await ended(app, job.id)).output == {"sent": "meanwhile"}
        assert (await verbs(app, job.id))[-1] == "done"


async def test_a_hundred_signals_to_one_waiting_job_are_each_taken_once(app):
    @app.machine("collector")
    class Collector:
        @step
        async def collect(self, ctx: Context) -> Any:
            got = list(ctx.state.get("got", ()))
            while signal := ctx.take("n"):
                got.append(signal.payload["n"])
            return Done(got) if len(got) == 100 else Await("n", state={"got": got})

    async with working(app):
        job = await Collector.enqueue()
        for number in range(100):
            await app.signal(job.id, "n", {"n": number})
        assert (await ended(app, job.id)).output == list(range(100))
