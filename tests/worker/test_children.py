"""Fan-out by `ctx.spawn`, fan-in by `reply`: children come with the commit of their parent's step, or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from tests.worker.world import ended, fetch, working

from kairos import Await, Backoff, Context, Done, Next, Stop, step
from kairos.testing import Clock, drain


def parent_of(app: Any, calls: Any, **options: Any) -> Any:
    """A machine that spawns `calls()` in its first step and answers with every reply in its second."""

    @app.machine("parent", **options)
    class Parent:
        @step(initial=True, to=["gather"])
        async def scatter(self, ctx: Context) -> Any:
            spawned = list(calls())
            ctx.spawn(*spawned, reply="done")
            return Next("gather", {"wait": len(spawned), "got": []})

        @step
        async def gather(self, ctx: Context) -> Any:
            got = list(ctx.state["got"])
            while reply := ctx.take("done"):
                got.append(reply.payload)
            left = ctx.state["wait"] - len(got)
            return Await("done", state={**ctx.state, "got": got}) if left else Done(got)

    return Parent


async def test_fifty_children_reply_once_each_and_their_parent_gathers_them(app):
    @app.job
    async def child(number: int) -> int:
        return number * number

    parent = parent_of(app, lambda: [child.call(number=n) for n in range(50)])
    async with working(app):
        job = await ended(app, (await parent.enqueue()).id)
        assert sorted(reply["output"] for reply in job.output) == [n * n for n in range(50)]
        assert {(reply["action"], reply["state"]) for reply in job.output} == {("child", "success")}
        assert len({reply["job"] for reply in job.output}) == 50


async def test_a_child_replies_however_it_ends(app):
    @app.job
    async def child(how: str) -> Any:
        return Stop("broken") if how == "failed" else "fine"

    parent = parent_of(
        app,
        lambda: [
            child.call(how="fine"),
            child.call(how="failed"),
            child.options(ttl="5s", queue="unserved").call(how="expired"),
            child.options(delay=3600, tags=["to cancel"]).call(how="cancelled"),
        ],
    )
    async with app:
        clock = await Clock(app).install()
        await clock.freeze()
        await app.pause("unserved")
        job = await parent.enqueue()
        await drain(app)
        (doomed,) = await app.jobs(tag="to cancel")
        await app.cancel(doomed.id)
        await clock.move(5)
        await drain(app)
        replies = (await app.get(job.id)).output
        told = {reply["state"]: reply["error"] for reply in replies}
        assert told["failed"] == "broken" and "TTL" in told["expired"] and told["cancelled"] is None
        assert [reply["output"] for reply in replies if reply["state"] == "success"] == ["fine"]


async def test_a_child_whose_parent_has_ended_ends_all_the_same(app):
    @app.job
    async def child() -> str:
        return "alone"

    @app.machine("parent")
    class Parent:
        @step
        async def only(self, ctx: Context) -> Any:
            ctx.spawn(child.call(), reply="done")
            return Done()

    async with app:
        job = await Parent.enqueue()
        await drain(app)
        (found,) = await app.jobs(action="child")
        assert (found.state, found.output, found.reply_to) == ("success", "alone", job.id)
        assert await app.signals(job.id) == []


async def children(app: Any) -> int:
    return (await fetch(app, "select count(*) as n from kairos.gen_durable where fsm = 'child'"))[0]["n"]


@pytest.mark.parametrize("end", ["raises", "stops", "returns nonsense", "is reaped"])
async def test_no_child_is_born_of_a_step_whose_outcome_is_not_committed(app, end):
    @app.job
    async def child() -> None: ...

    @app.machine("parent")
    class Parent:
        @step
        async def only(self, ctx: Context) -> Any:
            ctx.spawn(child.call(), reply="done")
            if end == "raises":
                raise ValueError("no")
            if end == "is reaped":  # another worker's, by now
                await fetch(app, "update kairos.gen_durable set lease = lease + 1 where id = $1", ctx.id)
            return {"stops": Stop(), "is reaped": Done()}.get(end, "nonsense")

    async with app:
        await Parent.enqueue()
        await drain(app)
        assert await children(app) == 0


async def test_an_attempt_that_is_tried_again_spawns_its_children_once(app):
    @app.job
    async def child() -> None: ...

    @app.machine("parent", retry=Backoff(attempts=3, base=0))
    class Parent:
        @step
        async def only(self, ctx: Context) -> Any:
            ctx.spawn(child.call())
            if ctx.attempt < 2:
                raise ValueError("again")
            return Done(ctx.attempt)

    async with app:
        job = await Parent.enqueue()
        await drain(app)
        assert (await app.get(job.id)).output == 2
        assert await children(app) == 1


async def test_a_child_whose_key_may_be_taken_must_say_what_then(app):
    @app.job
    async def child() -> None: ...

    @app.job
    async def parent(ctx: Context) -> None:
        ctx.spawn(child.options(unique="only").call())

    async with app:
        job = await parent.enqueue()
        await drain(app)
        found = await app.get(job.id)
        assert found.state == "failed" and "if_taken" in found.error
