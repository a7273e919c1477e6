"""Run-ahead: the next step on the same claim, after the commit of the one before, under a lease of its own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.worker.world import ended, fetch, until, verbs, working

from kairos import Context, Done, Next, step
from kairos.store.async_store import AsyncStore
from kairos.store.query import Query
from kairos.worker import flusher


def ten_steps(app: Any, **options: Any) -> Any:
    """A machine that goes ten times through one step and tells under which lease and claim each ran."""

    @app.machine("ten", **options)
    class Ten:
        @step(initial=True)
        async def work(self, ctx: Context) -> Any:
            seen = [*ctx.state.get("seen", ()), ctx.lease]
            return Done(seen) if len(seen) == 10 else Next("work", {"seen": seen})

    return Ten


@pytest.mark.parametrize(("ahead", "claims"), [(True, 1), (False, 10)])
async def test_ten_steps_take_one_claim_when_they_run_ahead_and_ten_when_not(app, ahead, claims):
    machine = ten_steps(app, run_ahead=ahead)
    picks = []
    async with working(app, concurrency=1) as worker:
        add = worker.executor.add
        worker.executor.add = lambda claim, first=False: (picks.append(first), add(claim, first=first))
        job = await ended(app, (await machine.enqueue()).id)
        assert await verbs(app, job.id) == ["next"] * 9 + ["done"]
        assert {row.from_state for row in await app.history(job.id)} == {"running"}
    # Each step has a token of its own, so each commit finds itself once.
    assert job.output == list(range(1, 11))
    assert picks.count(False) == claims


async def test_a_job_that_runs_ahead_for_long_lets_others_have_their_turn(app):
    order: list[str] = []

    @app.machine("endless")
    class Endless:
        @step
        async def work(self, ctx: Context) -> Any:
            order.append("endless")
            await asyncio.sleep(0)
            turns = ctx.state.get("turns", 0) + 1
            return Done() if turns == 40 else Next("work", {"turns": turns})

    @app.job
    async def modest() -> None:
        order.append("modest")

    async with working(app, concurrency=1):
        jobs = [await Endless.enqueue(), await modest.enqueue()]
        for job in jobs:
            await ended(app, job.id)
    assert order.index("modest") <= 17


async def test_a_beat_of_the_keeper_in_the_middle_of_a_commit_takes_no_lease_away(app):
    """The keeper may have read the lease of the step before: what it then tells must not end the next one."""

    @app.machine("busy")
    class Busy:
        @step
        async def work(self, ctx: Context) -> Any:
            turns = ctx.state.get("turns", 0) + 1
            if turns == 3:
                # What a keeper says that looked before the last commit.
                worker.executor.lose(ctx.id, ctx.lease - 1)
                await asyncio.sleep(0.05)
            return Done(turns) if turns == 5 else Next("work", {"turns": turns})

    async with working(app) as worker:
        job = await ended(app, (await Busy.enqueue()).id)
        assert (job.output, job.reaps) == (5, 0)
        assert "reap" not in await verbs(app, job.id)


async def test_a_commit_that_is_sent_again_after_its_answer_was_lost_is_not_made_twice(app, monkeypatch):
    """The worst place for a cut: the commit of a run-ahead is made, and the worker does not hear of it."""
    machine = ten_steps(app)
    lost = 0

    async with working(app) as worker:
        run = AsyncStore.on

        async def cut(store: AsyncStore, connection: Any, query: Query) -> Any:
            nonlocal lost
            rows = await run(store, connection, query)
            if query.name == "settle_jobs" and lost < 3:
                lost += 1
                raise ConnectionResetError("cut after the commit")
            return rows

        monkeypatch.setattr(AsyncStore, "on", cut)
        job = await ended(app, (await machine.enqueue()).id)
        assert [verb for verb in await verbs(app, job.id) if verb != "release"] == ["next"] * 9 + ["done"]
    assert lost == 3
    assert (job.reaps, worker.flusher.stale) == (0, 0)
    assert len(job.output) == 10 and sorted(set(job.output)) == job.output


async def test_a_cut_after_a_commit_that_freed_a_key_does_not_commit_its_neighbours_again(app, monkeypatch):
    """Opening keys follows the commit: if that fails, nothing of the batch may be sent again."""
    machine = ten_steps(app)

    @app.job
    async def keyed(number: int) -> int:
        return number

    async with working(app):
        run, cuts = AsyncStore.on, iter(range(2))

        async def cut(store: AsyncStore, connection: Any, query: Query) -> Any:
            if query.name == "wait_for_key_locks" and next(cuts, None) is not None:
                raise ConnectionResetError("cut")
            return await run(store, connection, query)

        monkeypatch.setattr(AsyncStore, "on", cut)
        jobs = [await machine.enqueue() for _ in range(5)]
        jobs += await app.enqueue_many([keyed.options(key="k").call(number=n) for n in range(3)])
        found = [await ended(app, job.id) for job in jobs]
        assert [job.state for job in found] == ["success"] * 8
        assert {job.reaps for job in found} == {0}
        rows = await fetch(app, "select job_id, count(*) as n from kairos.history group by 1")
        counts = {row["job_id"]: row["n"] for row in rows}
        assert [counts[job.id] for job in found] == [10] * 5 + [1] * 3


async def test_two_outcomes_of_one_job_never_share_a_commit(app, monkeypatch):
    """The commit of a run waits, its lease runs out, the same worker picks the job again, and both wait."""
    begun, gate, runs = asyncio.Event(), asyncio.Event(), []

    @app.job
    async def first() -> None: ...

    @app.machine("twice")
    class Twice:
        @step(initial=True, to=["second"])
        async def run(self, ctx: Context) -> Any:
            runs.append(ctx.lease)
            ctx.spawn(first.call())
            return Next("second") if len(runs) == 2 else Done("the zombie's")

        @step(to=[])
        async def second(self, ctx: Context) -> Any:
            return Done("the heir's")

    commit = flusher.commit

    async def slow(*args: Any) -> Any:
        begun.set()
        await gate.wait()
        return await commit(*args)

    async with working(app) as worker:
        monkeypatch.setattr(flusher, "commit", slow)
        monkeypatch.setattr(flusher, "STALLED_AFTER", 3600)  # or it would claim nothing meanwhile
        await first.enqueue()
        await begun.wait()
        job = await Twice.enqueue()
        await until(lambda: runs)
        await fetch(
            app, "update kairos.gen_durable set lease_expires_at = kairos.now() where id = $1", job.id
        )
        await until(lambda: worker.flusher.backlog == 3)
        gate.set()
        assert (await ended(app, job.id)).output == "the heir's"
        assert await verbs(app, job.id) == ["reap", "next", "done"]
        (row,) = await fetch(app, "select count(*) as n from kairos.gen_durable where fsm = 'first'")
        assert row["n"] == 2
    assert runs == [1, 2]
