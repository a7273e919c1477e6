"""The end of a worker: in good order on the first signal, at once on the second, and also without a database."""

from __future__ import annotations

import asyncio
import threading
from signal import SIGINT, SIGTERM
from urllib.parse import urlsplit

import psycopg
import pytest
from tests.worker.world import ended, fetch, reaches, until, verbs, working

from kairos import Context, Done, Kairos, Next, step
from kairos.store.async_store import AsyncStore

HOUR = 3600


@pytest.mark.parametrize("number", [SIGTERM, SIGINT])
async def test_the_first_signal_lets_what_runs_finish_and_exits_with_0(crew, app, number):
    worker = await crew.ready(lease=HOUR)
    jobs = [await app.action("sleep").enqueue(seconds=0.5), await app.action("wait_for").enqueue(name="go")]
    for job in jobs:
        await crew.inside(job.id)
    worker.signal(number)
    await until(lambda: "stopping" in crew.log)

    async def stops() -> bool:
        return all(each.stopping_at is not None for each in await app.workers())

    await until(stops)  # it picks no more from then on
    late = await app.action("sleep").enqueue(seconds=0)
    (crew.folder / "go").touch()
    await until(lambda: worker.code is not None)
    assert worker.code == 0
    assert [(await app.get(job.id)).output for job in jobs] == [0, 0]
    assert (await app.get(late.id)).state == "pending"  # it had stopped picking
    assert await app.workers() == []


async def test_the_second_signal_exits_at_once_and_the_keeper_hands_back(crew, app):
    worker = await crew.ready(lease=HOUR)
    job = await app.action("wait_for").enqueue(name="never")
    await crew.inside(job.id)
    worker.signal(SIGTERM)
    await until(lambda: "stopping" in crew.log)
    worker.signal(SIGTERM)
    await until(lambda: worker.code is not None)
    assert worker.code not in (0, None)
    await crew.ready(lease=HOUR)
    assert (await ended(app, job.id)).output == 1


async def test_a_step_in_a_thread_that_outlasts_the_grace_does_not_keep_the_process(crew, app):
    worker = await crew.ready(lease=HOUR, grace=0.2)
    job = await app.action("wait_for").enqueue(name="never")
    await crew.inside(job.id)
    worker.signal(SIGTERM)
    await until(lambda: worker.code is not None)
    assert worker.code == 0
    job = await app.get(job.id)
    assert (job.state, job.attempt) == ("pending", 0)
    (row,) = await app.history(job.id)
    assert (row.verb, row.reason) == ("release", "its worker is shutting down")


def two_steps(app: Kairos):
    """Return a machine whose first step waits, the jobs in which that has begun, and what ends its wait."""
    begun, go_on = [], asyncio.Event()

    @app.machine("two")
    class Two:
        @step(initial=True, to=["second"])
        async def first(self, ctx: Context):
            begun.append(ctx.id)
            await go_on.wait()
            return Next("second")

        @step(to=[])
        async def second(self, ctx: Context):
            return Done()

    return Two, begun, go_on


async def test_what_was_claimed_and_not_begun_is_released_and_the_next_step_of_a_machine_too(database):
    app = Kairos(database)
    two, begun, go_on = two_steps(app)
    async with app:
        jobs = [await two.enqueue() for _ in range(5)]
        async with app.worker(concurrency=1) as worker:
            worker.picker.pace.within = lambda _: 10  # it has been quick: it claims ahead
            await until(lambda: begun and worker.executor.load == 5)
            stopping = asyncio.create_task(worker.stop())
            await reaches(app, jobs[-1].id, "pending")
            go_on.set()
            await stopping
        found = [await app.get(job.id) for job in jobs]
        assert begun == [jobs[0].id]
        assert {(job.state, job.attempt, job.reaps) for job in found} == {("pending", 0, 0)}
        assert [job.step for job in found] == ["second"] + ["first"] * 4
        assert [await verbs(app, job.id) for job in jobs] == [["next", "release"]] + [["release"]] * 4


async def test_what_a_stopping_worker_hands_back_goes_on_at_once_in_another(database):
    app = Kairos(database)
    two, begun, go_on = two_steps(app)
    async with app, app.worker() as worker:
        job = await two.enqueue()
        await until(lambda: begun)
        async with app.worker(poll=3600.0) as other:
            await until(lambda: other.listener.is_receiving and not other.picker.seconds_in_tick)
            stopping = asyncio.create_task(worker.stop())
            await until(lambda: worker.executor.stopping)
            go_on.set()
            await stopping
            assert (await ended(app, job.id)).state == "success"


async def test_an_idle_worker_that_stops_wakes_no_other(database, monkeypatch):
    app = Kairos(database)
    ran: list[str] = []
    run = AsyncStore.on

    async def noted(store, connection, query):
        ran.append(query.name)
        return await run(store, connection, query)

    async with app:
        async with app.worker() as worker:
            await until(lambda: worker.listener.is_receiving)
            monkeypatch.setattr(AsyncStore, "on", noted)
        assert "release_unstarted" in ran
        assert "notify_queues" not in ran


async def test_a_pick_whose_answer_comes_after_the_stop_is_given_back(database):
    app = Kairos(database)

    @app.job
    async def never() -> None: ...

    async with app:
        async with app.worker() as worker:
            pick, picked = worker.picker.pick_in_a_row, asyncio.Event()

            async def slow(queue, room):
                more = await pick(queue, room)
                if worker.executor.load:
                    claims.extend(worker.executor.take_unstarted())  # as if its answer were still on the way
                    picked.set()
                    await until(lambda: worker.executor.stopping)
                    for claim in claims:
                        worker.executor.add(claim)
                return more

            claims = []
            worker.picker.pick_in_a_row = slow
            job = await never.enqueue()
            await until(picked.is_set)
        job = await app.get(job.id)
        assert (job.state, job.attempt, await verbs(app, job.id)) == ("pending", 0, ["release"])


async def test_a_worker_whose_database_is_away_stops_all_the_same_and_its_keeper_hands_back_later(
    crew, app, server_url
):
    worker = await crew.ready(lease=HOUR, grace=0.2)
    job = await app.action("wait_for").enqueue(name="never")
    await crew.inside(job.id)
    name = urlsplit(crew.database).path.removeprefix("/")
    with psycopg.connect(server_url, autocommit=True) as admin:
        admin.execute(f"alter database {name} allow_connections false")
        admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [name])
        worker.signal(SIGTERM)
        await until(lambda: worker.code is not None)
        assert worker.code == 0
        assert "stopped without removing its row" in crew.log
        admin.execute(f"alter database {name} allow_connections true")
    await crew.ready(lease=HOUR)
    assert (await ended(app, job.id)).output == 1


async def test_a_step_that_ends_while_the_worker_stops_is_committed_once(database):
    app = Kairos(database)
    go_on = threading.Event()

    @app.job
    def thread() -> str:
        go_on.wait(20)
        return "done"

    async with working(app) as worker:
        job = await thread.enqueue()
        await reaches(app, job.id, "running")
        stopping = asyncio.create_task(worker.stop())
        await asyncio.sleep(0)
        go_on.set()
        await stopping
        assert (await app.get(job.id)).output == "done"
        assert await verbs(app, job.id) == ["done"]
        assert await fetch(app, "select 1 from kairos.gen_durable where status = 'executing'") == []
