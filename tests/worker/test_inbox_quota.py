"""An inbox is bounded: senders are refused, replies are not, and no inbox ends a worker."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest
from tests.worker.world import ended, fetch, working

from kairos import Await, Context, Done, Kairos, Next, step
from kairos.errors import InboxFull
from kairos.testing import drain

MEGABYTE = 1_000_000


@pytest.fixture
def database(kairos_database: str) -> str:
    """A database of each test's own: some tests here change its tables."""
    return kairos_database


async def limit(app: Kairos, **quota: int) -> None:
    """A small quota, as a migration with these settings would store it."""
    await Kairos(app.store.url, **quota).migrate()


async def fill(app: Kairos, job_id: int, name: str, last: str) -> None:
    """Ten signals of a megabyte each, past the quota, for a job that then runs."""
    await fetch(
        app,
        "insert into kairos.signals (target_id, name, payload, inserted_at, bytes)"
        " select $1, case when n < 10 then $3 else $4 end, to_jsonb(repeat('x', $2)), now(), $2"
        " from generate_series(1, 10) as n",
        job_id,
        MEGABYTE,
        name,
        last,
    )
    await fetch(app, "update kairos.gen_durable set signalled = true where id = $1", job_id)
    await app.run_now(job_id)


def waiter(app: Kairos) -> Any:
    @app.machine("waiter")
    class Waiter:
        @step
        async def wait(self, ctx: Context) -> Any:
            taken = ctx.state.get("taken", 0)
            while ctx.take("n"):
                taken += 1
            return Done(taken) if ctx.take("stop") else Await("n", "stop", state={"taken": taken})

    return Waiter


async def test_signals_beyond_any_quota_end_no_worker_and_are_taken_page_by_page(app):
    """280 MB that were accepted before there was a quota: more than Postgres puts into one value."""
    count = 280
    Waiter = waiter(app)

    @app.job
    async def neighbour() -> str:
        return "ran"

    async with app:
        job = await Waiter.options(delay=3600).enqueue()
        await fetch(
            app,
            "insert into kairos.signals (target_id, name, payload, inserted_at)"
            " select $1, case when n < $2 then 'n' else 'stop' end, to_jsonb(repeat('x', $3)), now()"
            " from generate_series(1, $2) as n",
            job.id,
            count,
            MEGABYTE,
        )
        await fetch(app, "update kairos.gen_durable set signalled = true where id = $1", job.id)
        async with app.worker(poll=0.1, grace=5):
            await app.run_now(job.id)
            assert (await app.result((await neighbour.enqueue()).id, timeout=30)) == "ran"
            assert (await ended(app, job.id)).output == count - 1


async def test_a_sender_is_refused_once_so_many_signals_wait(app):
    Waiter = waiter(app)
    async with app:
        await limit(app, inbox_signals=3)
        job = await Waiter.options(delay=3600).enqueue()
        for number in range(3):
            await app.signal(job.id, "n", dedup_key=f"event-{number}")
        with pytest.raises(InboxFull, match=rf"inbox of job {job.id} is full: 'n' was not stored") as refused:
            await app.signal(job.id, "n", dedup_key="event-3")
        assert (refused.value.code, refused.value.http_status) == ("INBOX_FULL", 409)
        assert await app.signal(job.id, "n", dedup_key="event-2") == "duplicate"
        await app.run_now(job.id)
        await drain(app)
        assert await app.signal(job.id, "n", dedup_key="event-3") == "woke"


async def test_a_sender_is_refused_once_signals_take_so_many_bytes(app):
    Waiter = waiter(app)
    async with app:
        await limit(app, inbox_bytes=1000)
        job = await Waiter.options(delay=3600).enqueue()
        for _ in range(2):
            assert await app.signal(job.id, "n", "x" * 450) == "delivered"  # well compressed, if that counted
        with pytest.raises(InboxFull):
            await app.signal(job.id, "n", "x" * 450)
        assert await app.signal(job.id, "n", "x" * 50) == "delivered"


async def test_a_sender_that_does_not_know_the_quota_is_refused_with_an_error(app):
    Waiter = waiter(app)
    async with app:
        await limit(app, inbox_signals=1)
        job = await Waiter.options(delay=3600).enqueue()
        deliver = "select kairos.deliver($1, 'n', '{}', null, null)"
        await fetch(app, deliver, job.id)
        with pytest.raises(asyncpg.PostgresError, match=r"inbox of job \d+ is full"):
            await fetch(app, deliver, job.id)


async def test_the_quota_of_a_new_database_is_the_documented_one(app):
    async with app:
        (row,) = await fetch(app, "select kairos.inbox_signals() as signals, kairos.inbox_bytes() as bytes")
    assert (row["signals"], row["bytes"]) == (10_000, 16 << 20)


async def test_a_reply_is_never_refused_and_comes_without_its_output_where_there_is_no_room(app):
    @app.job
    async def child(size: int) -> str:
        return "x" * size

    @app.machine("parent")
    class Parent:
        @step
        async def gather(self, ctx: Context) -> Any:
            if not ctx.state.get("spawned"):
                ctx.spawn(*(child.call(size=size) for size in (9_000, 9_000, 10)), reply="ended")
                return Await("all", state={"spawned": True})
            return Done(
                [
                    [
                        signal.payload["state"],
                        signal.payload["output"] is None,
                        "outputOmitted" in signal.payload,
                    ]
                    for signal in ctx.inbox
                    if signal.name == "ended"
                ]
            )

    async with app:
        await limit(app, inbox_bytes=10_000, inbox_signals=2)
        job = await Parent.enqueue()
        await drain(app)
        await app.signal(job.id, "all")  # replies take nothing of the quota of senders
        await drain(app)
        assert sorted((await app.get(job.id)).output) == [
            ["success", False, False],
            ["success", False, False],
            ["success", True, True],
        ]
        (incident,) = await fetch(
            app, "select subject, job_id from kairos.incidents where kind = 'replies_cut'"
        )
        assert (incident["subject"], incident["job_id"]) == ("parent", job.id)


async def test_a_job_whose_inbox_cannot_be_read_is_set_aside_and_its_neighbours_run(app):
    Waiter = waiter(app)
    async with app:
        jobs = [await Waiter.options(delay=3600).enqueue() for _ in range(5)]
        for job in jobs:
            await app.signal(job.id, "stop")
        await fetch(
            app,
            """create function public.readable(payload jsonb, job bigint, broken bigint) returns text language plpgsql
            as $$ begin if job = broken then raise data_corrupted; end if; return payload; end $$""",
        )
        broken = f"public.readable(p.payload, p.target_id, {jobs[2].id})"
        text = app.store.sql["read_inboxes"].replace("p.payload::text", broken)
        app.store.sql = {**app.store.sql, "read_inboxes": text}
        async with app.worker(poll=0.1, grace=5):
            for job in jobs:
                await app.run_now(job.id)
            found = [await ended(app, job.id) for job in jobs]
        assert [job.state for job in found] == ["success", "success", "failed", "success", "success"]
        assert (found[2].error_code, found[2].error.partition(": ")[0]) == ("JOB_SET_ASIDE", "JobSetAside")
        assert "its inbox cannot be read" in found[2].error


async def test_a_step_that_leaves_everything_in_an_inbox_too_large_to_be_shown_fails_and_does_not_spin(app):
    @app.machine("picky")
    class Picky:
        @step
        async def wait(self, ctx: Context) -> Any:
            return Await("late")

    async with app:
        await limit(app, inbox_bytes=2_000_000)
        job = await Picky.options(delay=3600).enqueue()
        await fill(app, job.id, "early", "late")
        assert await drain(app, limit=5) == 1
        found = await app.get(job.id)
        assert (found.state, found.error_code) == ("failed", "INBOX_FULL")


async def test_small_signals_from_before_sizes_were_stored_are_shown_whole(app):
    """A step that gathers them without taking any goes on waiting."""

    @app.machine("gatherer")
    class Gatherer:
        @step
        async def wait(self, ctx: Context) -> Any:
            return Done(len(ctx.inbox)) if len(ctx.inbox) > 3000 else Await("n")

    async with app:
        job = await Gatherer.enqueue()
        await drain(app)
        await fetch(
            app,
            "insert into kairos.signals (target_id, name, payload, inserted_at)"
            " select $1, 'n', to_jsonb(n), now() from generate_series(1, 3000) as n",
            job.id,
        )
        assert await app.signal(job.id, "other") == "delivered"
        await app.signal(job.id, "n")
        await drain(app)
        assert (await app.get(job.id)).output == 3002


async def test_a_step_ahead_of_one_that_took_signals_may_wait_for_the_rest(app):
    @app.machine("two_steps")
    class TwoSteps:
        @step(initial=True, to=["second"])
        async def first(self, ctx: Context) -> Any:
            return Next("second", {"taken": len(list(iter(lambda: ctx.take("n"), None)))})

        @step(to=[])
        async def second(self, ctx: Context) -> Any:
            if not ctx.inbox:
                return Await("n")
            return Done([ctx.state["taken"], len(ctx.inbox)])

    async with app:
        await limit(app, inbox_bytes=2_000_000)
        job = await TwoSteps.options(delay=3600).enqueue()
        await fill(app, job.id, "n", "n")
        await drain(app)
        taken, left = (await app.get(job.id)).output
        assert (taken + left <= 10, 0 < taken < 10, left > 0) == (True, True, True)


async def test_two_thousand_signals_are_taken_in_one_run(app):
    Waiter = waiter(app)
    async with working(app):
        job = await Waiter.options(delay=3600).enqueue()
        await fetch(
            app,
            "select count(kairos.put_signal($1, case when n < 2000 then 'n' else 'stop' end, '{}', null, null))"
            " from generate_series(1, 2000) as n",
            job.id,
        )
        await app.run_now(job.id)
        assert (await ended(app, job.id)).output == 1999
