"""How much runs at once and how fast it starts: in one worker, over several, and not at all while a queue is paused."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest
from tests.worker.world import TIMEOUT, ended, fetch, until, verbs, working

from kairos import Await, Backoff, Context, Done, Next, step
from kairos.errors import ConfigError
from kairos.store.query import Query
from kairos.testing import Clock, drain
from kairos.worker.pruner import Pruner


@pytest.fixture
def database(kairos_database: str) -> str:
    """A database of each test's own: some tests here change its tables."""
    return kairos_database


class Gauge:
    """How many are inside at once, and the most that ever were."""

    def __init__(self) -> None:
        self.now: dict[str, int] = {}
        self.most: dict[str, int] = {}

    async def __call__(self, name: str, seconds: float = 0.02) -> None:
        self.now[name] = self.now.get(name, 0) + 1
        self.most[name] = max(self.most.get(name, 0), self.now[name])
        await asyncio.sleep(seconds)
        self.now[name] -= 1


async def finished(app: Any, jobs: Any) -> None:
    ids = [job.id for job in jobs]
    left = "select count(*) as n from kairos.gen_durable where id = any ($1::bigint[]) and status <> 'done'"

    async def all_done() -> bool:
        return (await fetch(app, left, ids))[0]["n"] == 0

    await until(all_done)


async def test_a_worker_runs_no_more_of_a_queue_than_its_local_limit_and_no_more_than_its_concurrency(app):
    gauge = Gauge()

    @app.job
    async def work(queue: str) -> None:
        await asyncio.gather(gauge(queue), gauge("all"))

    @app.machine("ahead", queue="narrow")
    class Ahead:
        @step
        async def go(self, ctx: Context) -> Any:
            await asyncio.gather(gauge("narrow", 0.005), gauge("all", 0.005))
            turns = ctx.state.get("turns", 0) + 1
            return Done() if turns == 8 else Next("go", {"turns": turns})

    async with working(app, queues={"narrow": 1, "wide": None, "two": 2}, concurrency=4):
        calls = [work.options(queue=queue).call(queue=queue) for queue in ("wide", "two") for _ in range(12)]
        jobs = await app.enqueue_many([*calls, *(Ahead.call() for _ in range(4))])
        await finished(app, jobs)
    assert gauge.most == {"narrow": 1, "two": 2, "wide": gauge.most["wide"], "all": 4}


# What the database itself sees at each pick, under the lock that lets one picker at a time decide.
COUNT_AT_EACH_PICK = """
create table seen (running int);
create function look() returns trigger language plpgsql as $$ begin
  insert into seen select count(*) from kairos.gen_durable where status = 'executing';
  return null;
end $$;
create trigger look after update on kairos.gen_durable for each row
  when (old.status = 'runnable' and new.status = 'executing') execute function look();
"""


async def test_a_queue_with_a_limit_over_all_workers_never_runs_more_with_three_of_them(app):
    gauge = Gauge()

    @app.job
    async def work(ctx: Context) -> None:
        await gauge("all")

    async with app, AsyncExitStack() as stack:
        await app.limit("default", concurrency=3)
        async with app.store.connection() as connection:
            await connection.execute(COUNT_AT_EACH_PICK)
        jobs = await app.enqueue_many([work.call() for _ in range(45)])
        for _ in range(3):
            await stack.enter_async_context(app.worker(concurrency=10, poll=0.05))
        await finished(app, jobs)
        (row,) = await fetch(app, "select max(running) as most, count(*) as picks from seen")
    assert gauge.most["all"] == 3
    assert (row["most"], row["picks"]) == (3, 45)


async def test_a_rate_holds_over_two_workers_in_every_window(app):
    @app.job
    async def work() -> None: ...

    async with app, AsyncExitStack() as stack:
        await app.limit("default", rate=(10, timedelta(milliseconds=400)))
        jobs = await app.enqueue_many([work.call() for _ in range(32)])
        for _ in range(2):
            await stack.enter_async_context(app.worker(concurrency=5, poll=0.05))
        await finished(app, jobs)
        rows = await fetch(
            app, "select started_at from kairos.history where verb = 'done' order by started_at"
        )
    starts = [row["started_at"] for row in rows]
    assert len(starts) == 32
    # A bucket of 10 that refills by one every 40 ms: between any two starts lie no more than it held and got.
    for first, begin in enumerate(starts):
        for last, end in enumerate(starts[first:], first):
            assert last - first + 1 <= 10 + (end - begin) / timedelta(milliseconds=40)
    assert starts[-1] - starts[0] >= timedelta(milliseconds=40 * 22)


async def test_a_paused_queue_gives_nothing_until_it_is_resumed_and_what_runs_goes_on(app):
    go_on = asyncio.Event()

    @app.job
    async def wait() -> str:
        await go_on.wait()
        return "done"

    @app.job(queue="other")
    async def other() -> str:
        return "other"

    async with working(app, queues=["default", "other"]):
        running = await wait.enqueue()
        await until(lambda: fetch(app, "select 1 from kairos.gen_durable where status = 'executing'"))
        await app.pause("default")
        held = await wait.enqueue()
        go_on.set()
        assert (await ended(app, running.id)).output == "done"
        for _ in range(3):  # the worker has looked at its queues since
            assert (await ended(app, (await other.enqueue()).id)).output == "other"
        assert (await app.get(held.id)).state == "pending"
        await app.resume("default")
        assert (await ended(app, held.id)).output == "done"


async def test_a_burst_in_one_queue_does_not_keep_another_from_its_turn(app):
    order: list[str] = []

    @app.job
    async def work(queue: str) -> None:
        order.append(queue)

    async with app:
        jobs = await app.enqueue_many([work.options(queue="loud").call(queue="loud") for _ in range(300)])
        jobs += await app.enqueue_many([work.options(queue="quiet").call(queue="quiet")])
        async with app.worker(queues=["loud", "quiet"], concurrency=2):
            await finished(app, jobs)
    assert order.index("quiet") < 250


async def test_progress_is_seen_while_the_step_runs_and_a_bad_one_is_the_error_of_the_step(app):
    go_on = asyncio.Event()

    @app.job
    async def steady(ctx: Context) -> None:
        for done in range(100):
            ctx.progress(done, 100)
        await go_on.wait()

    @app.job
    def thread(ctx: Context) -> None:
        for done in range(1, 1001):
            ctx.progress(done, 1000)
        asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(TIMEOUT)

    @app.job
    async def wrong(ctx: Context, how: str) -> None:
        ctx.progress({"nan": float("nan"), "text": "\ud800", "object": object()}[how])

    loop = asyncio.get_running_loop()
    async with working(app):
        jobs = [await steady.enqueue(), await thread.enqueue()]
        for job, told in zip(jobs, ({"done": 99, "total": 100}, {"done": 1000, "total": 1000}), strict=True):

            async def seen(job: Any = job, told: Any = told) -> bool:
                return (await app.get(job.id)).progress == told

            await until(seen)
        bad = [await ended(app, (await wrong.enqueue(how=how)).id) for how in ("nan", "text", "object")]
        assert [job.error_code for job in bad] == ["BAD_VALUE"] * 3
        go_on.set()
        assert [(await ended(app, job.id)).state for job in jobs] == ["success"] * 2


async def test_what_a_step_told_last_is_kept_with_its_outcome_whatever_that_is(app):
    @app.machine("teller", retry=Backoff(attempts=1))
    class Teller:
        @step(initial=True)
        async def tell(self, ctx):
            ctx.progress(3, 4)
            match ctx.state["how"]:
                case "waiting":
                    return Await("go")
                case "failed":
                    raise ValueError("no")
                case "cancelled":
                    await app.cancel(ctx.id)
                    ctx.cancel_requested = True
                    ctx.checkpoint()
            return Done()

    ends = ("success", "waiting", "failed", "cancelled")
    async with app:
        jobs = await app.enqueue_many([Teller.call(how=how) for how in ends])
        await drain(app)
        found = [await app.get(job.id) for job in jobs]
        assert [(job.state, job.progress) for job in found] == [
            (end, {"done": 3, "total": 4}) for end in ends
        ]


async def test_settled_jobs_leave_after_their_retention_with_their_history_and_are_counted(app):
    @app.job
    async def quick() -> None: ...

    async with app:
        clock = await Clock(app).install()
        await clock.freeze()
        live = await quick.options(delay=3600).enqueue()
        jobs = [await quick.enqueue() for _ in range(3)]
        await drain(app)
        pruner = Pruner(app.store, timedelta(seconds=10))
        for by in (timedelta(seconds=10, microseconds=-1), timedelta(microseconds=1)):
            assert len(await app.jobs()) == 4
            await clock.move(by)
            assert await pruner.tick() == 60.0
        assert [job.id for job in await app.jobs()] == [live.id]
        assert await verbs(app, jobs[0].id) == []
        assert [tuple(row) for row in await fetch(app, "select * from kairos.purged")] == [("done", 3)]


def test_a_worker_refuses_settings_that_could_not_work(app):
    for settings, said in (
        ({"queues": []}, "at least one queue"),
        ({"queues": "mail"}, "a list of names"),
        ({"concurrency": 0}, "at least 1"),
        ({"lease": 0.1}, "between two renewals"),
    ):
        with pytest.raises(ConfigError, match=said):
            app.worker(**settings)


async def test_the_rate_of_keys_holds_from_the_first_pick_of_a_worker_into_a_backlog(app):
    @app.job
    async def act() -> None: ...

    async with app:
        await app.limit("default", key_rate=(1, "1h"))
        for _ in range(2):
            await app.enqueue_many(act.options(key=f"k{n}").call() for n in range(150))
        async with app.worker(concurrency=10):
            while len(await app.jobs(state="success", limit=1000)) < 150:
                await asyncio.sleep(0.01)
        assert len(await app.jobs(state="success", limit=1000)) == 150


async def test_a_queue_that_seldom_has_anything_is_served_however_busy_the_others_are(app):
    """Hints come faster than the worker looks around."""

    @app.job(name="kairos.rare", queue="kairos")
    async def rare() -> str:
        return "done"

    async with working(app, queues=["default"]) as worker:
        hints = asyncio.create_task(_hint(worker.picker.pick_soon))
        try:
            await asyncio.sleep(0)
            job = await rare.enqueue()
            assert (await ended(app, job.id)).state == "success"
        finally:
            hints.cancel()


async def _hint(look: Any) -> None:
    while True:
        look()
        await asyncio.sleep(0.005)


async def test_an_instant_further_than_any_interval_ends_no_loop(app):
    @app.job
    async def work() -> None: ...

    async with working(app):
        later = await work.options(delay="2d", ttl="2d").enqueue()
        never = "update kairos.gen_durable set {0} = 'infinity' where id = $1 returning id"
        await fetch(app, never.format("expires_at"), later.id)
        await fetch(app, never.format("eligible_at"), (await work.options(delay="2d").enqueue()).id)
        assert [row["wait"] for row in await app.store.run(Query("next_due", (["default"],)))] == [
            timedelta(1)
        ]
        assert (await app.store.run(Query("next_deadlines", (None,))))[0]["expire"] == timedelta(1)
        assert (await ended(app, (await work.enqueue()).id)).state == "success"


async def test_retention_goes_on_until_the_last_old_request_and_asks_for_less_after_a_failure(app):
    async with app:
        expired = """
            insert into kairos.idempotency (caller, key, fingerprint, expires_at)
            select 'me', n::text, '', now() from generate_series(1, 2500) as n
        """
        await fetch(app, expired)
        pruner = Pruner(app.store, timedelta(days=7))
        assert [await pruner.tick() for _ in range(3)] == [0.0, 0.0, 60.0]
        assert await fetch(app, "select 1 from kairos.idempotency") == []
        for _ in range(6):
            pruner.failed(TimeoutError())
        await fetch(app, expired)
        assert await pruner.tick() == 0.0
        assert len(await fetch(app, "select 1 from kairos.idempotency")) == 2499
