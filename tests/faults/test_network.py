"""The network between a worker and Postgres: cut, swallowed, and cut just after a commit."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.faults.proxy import is_commit
from tests.worker.world import ended, fetch, until, verbs

from kairos import Await, Context, Done, Kairos, Next, step
from kairos.worker import listener


def names(*statements: str) -> Any:
    """Whether a statement is one of Kairos's own, which begin with their name."""
    return lambda sql: any(sql.startswith(f"-- {each}:") for each in statements)


def declare(app: Kairos) -> None:
    """A family that uses every kind of commit: run-ahead, spawn, reply, await, and a plain end."""

    @app.job
    async def child(number: int) -> int:
        return number

    @app.machine("parent")
    class Parent:
        @step(initial=True, to=["walk"])
        async def scatter(self, ctx: Context) -> Any:
            ctx.spawn(*(child.call(number=n) for n in range(3)), reply="done")
            return Next("walk", {"walked": 0, "got": []})

        @step(to=["walk", "gather"])
        async def walk(self, ctx: Context) -> Any:
            walked = ctx.state["walked"] + 1
            return Next("gather" if walked == 3 else "walk", {**ctx.state, "walked": walked})

        @step(to=[])
        async def gather(self, ctx: Context) -> Any:
            got = list(ctx.state["got"])
            while reply := ctx.take("done"):
                got.append(reply.payload["output"])
            return Done(sorted(got)) if len(got) == 3 else Await("done", state={**ctx.state, "got": got})


@pytest.fixture
def apps(proxy, direct):
    through = Kairos(proxy.url)
    for app in (direct, through):
        declare(app)
    return direct, through


async def check_family(app: Kairos, parents: list[Any]) -> None:
    """Nothing lost, nothing doubled: as many children as were spawned, each commit once."""
    for parent in parents:
        job = await ended(app, parent.id)
        assert (job.state, job.output) == ("success", [0, 1, 2])
        told = [verb for verb in await verbs(app, job.id) if verb in ("next", "done")]
        assert told == ["next"] * 4 + ["done"]
    (row,) = await fetch(app, "select count(*) as n from kairos.gen_durable where fsm = 'child'")
    assert row["n"] == 3 * len(parents)
    assert await fetch(app, "select 1 from kairos.gen_durable where status not in ('done')") == []


async def test_a_connection_lost_between_two_calls_is_replaced_without_an_error(apps, proxy):
    """The connection that was used last is kept for the next call: a restart of Postgres may close it meanwhile."""
    _, through = apps
    async with through:
        store = through.store
        async with store.connection() as connection:
            pid = await connection.fetchval("select pg_backend_pid()")
        async with store.connection() as connection:  # the same one again
            assert await connection.fetchval("select pg_backend_pid()") == pid
        proxy.cut()
        await until(lambda: store.connections.open_connections == 0)
        assert (await through.action("child").enqueue(number=1)).id


async def test_a_worker_whose_connection_for_notifications_was_closed_listens_again_at_once(
    database, proxy, monkeypatch
):
    monkeypatch.setattr(listener, "PING_INTERVAL", 3600.0)
    async with Kairos(database, direct_url=proxy.url) as app:

        @app.job
        async def work() -> str:
            return "done"

        async with app.worker(poll=3600) as worker:
            for _ in range(3):
                await until(lambda: worker.listener.is_receiving)
                proxy.cut()
                assert (await ended(app, (await work.enqueue()).id)).output == "done"


@pytest.mark.parametrize(
    "aim",
    [names("settle_jobs", "finish_jobs"), is_commit, names("pick_jobs"), names("next_due", "next_deadlines")],
)
async def test_a_connection_cut_just_after_a_commit_loses_and_doubles_nothing(apps, proxy, aim):
    app, through = apps
    async with through, through.worker(poll=0.05):
        proxy.cut_after(aim, times=4)
        parents = [await app.action("parent").enqueue() for _ in range(4)]
        await until(lambda: not proxy.aim)
        await check_family(app, parents)
    assert proxy.hits == 4


async def test_connections_cut_again_and_again_lose_and_double_nothing(apps, proxy):
    app, through = apps
    async with through, through.worker(poll=0.05):
        parents = []
        for _ in range(10):
            parents += [await app.action("parent").enqueue() for _ in range(2)]
            await asyncio.sleep(0.03)
            proxy.cut()
        await check_family(app, parents)


async def test_a_network_that_swallows_everything_is_noticed_and_waited_out(apps, proxy):
    app, through = apps
    async with through, through.worker(poll=0.05) as worker:
        first = [await app.action("parent").enqueue() for _ in range(3)]
        await check_family(app, first)
        proxy.blackhole = True
        second = [await app.action("parent").enqueue() for _ in range(3)]
        await until(lambda: worker.picker.failures)
        proxy.blackhole = (
            False  # but what was sent meanwhile is gone for good, and its connections hear nothing
        )
        await check_family(app, [*first, *second])


async def test_connections_that_die_silently_are_replaced_and_jobs_are_picked_again(apps, proxy):
    app, through = apps
    async with through, through.worker(poll=0.05):
        await check_family(app, first := [await app.action("parent").enqueue() for _ in range(10)])
        proxy.mute()
        second = [await app.action("parent").enqueue() for _ in range(3)]
        await check_family(app, [*first, *second])


async def test_without_notifications_jobs_start_by_polling(apps, proxy):
    app, through = apps
    proxy.deaf = True
    async with through, through.worker(poll=0.05):
        await until(lambda: proxy.connections)
        parents = [await app.action("parent").enqueue() for _ in range(3)]
        await check_family(app, parents)
        await until(lambda: proxy.dropped)


async def test_a_database_that_refuses_for_a_while_is_waited_for(apps, proxy):
    app, through = apps
    async with through, through.worker(poll=0.05) as worker:
        proxy.refuse = True
        proxy.cut()
        parents = [await app.action("parent").enqueue() for _ in range(3)]
        await until(lambda: worker.picker.failures > 2)
        assert {(await app.get(parent.id)).state for parent in parents} == {"pending"}
        proxy.refuse = False
        await check_family(app, parents)
