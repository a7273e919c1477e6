"""`ctx.transaction()` on a connection that hangs, is cut or cannot be made: the step ends, and is not blamed for it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

import pytest
from tests.worker.world import ended, fetch, until, verbs

from kairos import Context, Kairos
from kairos.worker import step_failures, transaction

HANGS = "select 'it hangs'"


@pytest.fixture
async def direct(direct):
    await fetch(direct, "create table ledger (job bigint not null)")
    return direct


def declare(app: Kairos) -> None:
    @app.job(timeout=1)
    async def timed(ctx: Context) -> None:
        async with ctx.transaction() as connection:
            await connection.execute(HANGS)

    @app.job
    async def untimed(ctx: Context) -> None:
        async with ctx.transaction() as connection:
            await connection.execute(HANGS)

    @app.job
    def in_thread(ctx: Context) -> None:
        with ctx.transaction() as connection:
            connection.execute(HANGS)

    @app.job
    async def write(ctx: Context) -> str:
        async with ctx.transaction() as connection:
            await connection.execute("insert into ledger values ($1)", ctx.id)
        return "done"

    @app.job
    def write_in_thread(ctx: Context) -> str:
        with ctx.transaction() as connection:
            connection.execute("insert into ledger values (%s)", [ctx.id])
        return "done"

    @app.job
    async def nothing() -> None: ...

    @app.job
    async def deadly(ctx: Context) -> None:
        async with ctx.transaction() as connection:
            await connection.execute("select pg_terminate_backend(pg_backend_pid())")


@pytest.fixture
async def worker(proxy, direct):
    app = Kairos(proxy.url)
    declare(app)
    declare(direct)
    async with app, app.worker(poll=0.1, grace=1) as worker:
        yield worker


def starts(text: str) -> Any:
    return lambda sql: sql.startswith(text)


@pytest.mark.parametrize("action", ["timed", "untimed", "in_thread"])
async def test_a_peer_that_hangs_ends_the_step_in_its_time(proxy, direct, worker, monkeypatch, action):
    monkeypatch.setattr(transaction, "OPEN_AT_MOST", 1.0)
    proxy.hang_on(starts(HANGS))
    job = await ended(direct, (await direct.action(action).enqueue()).id)
    assert (job.state, job.error_code) == ("failed", "STEP_TIMEOUT")
    await until(lambda: not worker.executor.running)


@pytest.mark.parametrize("action", ["write", "write_in_thread"])
async def test_a_commit_that_gets_no_answer_hands_the_job_back(proxy, direct, worker, monkeypatch, action):
    monkeypatch.setattr(transaction, "COMMIT_AT_MOST", 1.0)
    proxy.hang_on(starts("-- finish_jobs:"))
    job = await ended(direct, (await direct.action(action).enqueue()).id)
    assert (job.output, job.attempt) == ("done", 0)
    assert await verbs(direct, job.id) == ["release", "done"]
    assert "the connection of its transaction was lost" in (await direct.history(job.id))[0].reason
    assert len(await fetch(direct, "select from ledger")) == 1


@pytest.mark.parametrize("action", ["write", "write_in_thread"])
async def test_a_step_that_gets_no_connection_is_handed_back_and_says_why(proxy, direct, worker, action):
    # After one job the worker has its own connections.
    await ended(direct, (await direct.action("nothing").enqueue()).id)
    proxy.refuse = True
    job = await direct.action(action).enqueue()

    async def handed_back() -> bool:
        return "release" in await verbs(direct, job.id)

    await until(handed_back)
    proxy.refuse = False
    job = await ended(direct, job.id)
    assert (job.output, job.attempt) == ("done", 0)
    (first, *_, last) = await direct.history(job.id)
    assert (first.verb, last.verb) == ("release", "done")
    assert first.reason.startswith("the connection of its transaction was lost: ")


@pytest.mark.parametrize("action", ["write", "write_in_thread"])
async def test_a_transaction_that_gets_no_answer_when_it_is_opened_hands_the_job_back(proxy, direct, action):
    app = Kairos(proxy.url)
    declare(app)
    declare(direct)
    proxy.hang_on(starts("-- name_session:"))
    async with app, app.worker(poll=0.1, grace=1, lease=3):
        job = await ended(direct, (await direct.action(action).enqueue()).id)
    assert (job.output, job.attempt) == ("done", 0)
    assert await verbs(direct, job.id) == ["release", "done"]
    assert "the connection of its transaction was lost" in (await direct.history(job.id))[0].reason


@pytest.mark.parametrize("used_before", [False, True])
async def test_a_connection_that_the_server_closes_while_a_transaction_is_opened_is_no_failure(
    direct, database, used_before
):
    """asyncpg's pool takes back a connection that was closed, and then knows nothing of it any more."""
    declare(direct)
    await fetch(direct, "create sequence begun")
    app = Kairos(database)
    declare(app)
    async with app:
        number = 2 if used_before else 1
        end = f"select case when nextval('begun') = {number} then pg_terminate_backend(pg_backend_pid()) end, $1::text"
        app.store.sql = {**app.store.sql, "name_session": end}
        async with app.worker(poll=0.1, grace=1):
            if used_before:
                await ended(direct, (await direct.action("write").enqueue()).id)
            job = await ended(direct, (await direct.action("write").enqueue()).id)
    assert (job.state, job.output, job.attempt) == ("success", "done", 0), job.error
    assert await verbs(direct, job.id) == (["done"] if used_before else ["release", "done"])


async def test_a_connection_that_hangs_since_another_step_used_it_is_replaced(proxy, direct):
    app = Kairos(proxy.url)
    declare(app)
    declare(direct)
    hung = []

    def once(sql: str) -> bool:
        return sql.startswith("-- name_session:") and not hung and not hung.append(sql)

    async with app, app.worker(poll=0.1, grace=1, lease=3):
        await ended(direct, (await direct.action("write").enqueue()).id)
        proxy.hang_on(once)
        job = await ended(direct, (await direct.action("write").enqueue()).id)
    assert hung
    assert job.output == "done"
    assert await verbs(direct, job.id) == ["done"]


@pytest.mark.parametrize("action", ["write", "write_in_thread"])
async def test_a_step_whose_transaction_meets_a_read_only_server_is_handed_back(direct, proxy, action):
    """As in the middle of a failover: nothing is wrong with the step, so it is no attempt."""
    app = Kairos(proxy.url)
    declare(app)
    declare(direct)
    refused = []

    @app.around_step
    @contextmanager
    def note(ctx):
        try:
            yield
        except Exception as error:
            refused.append(error)
            raise

    async with app, app.worker(poll=0.1, grace=1):
        await ended(direct, (await direct.action("nothing").enqueue()).id)
        (row,) = await fetch(direct, "select current_database() as name")
        job = await direct.action(action).options(delay=1).enqueue()
        async with direct.store.connection() as writable:  # one that is opened meanwhile is read-only
            await writable.execute(f"alter database {row['name']} set default_transaction_read_only = on")
            await until(lambda: refused)
            await writable.execute(f"alter database {row['name']} reset default_transaction_read_only")
        proxy.cut()  # whatever was connected meanwhile stays read-only
        job = await ended(direct, job.id)
    assert (job.state, job.output, job.attempt) == ("success", "done", 0)


async def test_a_step_that_ends_its_own_connection_again_and_again_fails(direct, worker, monkeypatch):
    monkeypatch.setattr(step_failures, "MOST_LOSSES", 1)
    job = await ended(direct, (await direct.action("deadly").enqueue()).id)
    assert job.state == "failed"
    assert await verbs(direct, job.id) == ["release", "stop"]
