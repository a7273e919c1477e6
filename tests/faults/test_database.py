"""Postgres restarted, its connections ended, its schema changed, read-only, or not there at all."""

from __future__ import annotations

import ast
import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
from tests.worker.world import ended, fetch, until, working

import kairos
from kairos import Context, Done, Kairos, Next, SyncKairos, step
from kairos.embedded import Server
from kairos.errors import DatabaseUnavailable
from kairos.store import async_connections
from kairos.store.driver_errors import unavailable


def declare(app: Kairos) -> None:
    @app.job
    async def work(ctx: Context) -> int:
        await asyncio.sleep(0.002)
        return ctx.attempt

    @app.machine("walk")
    class Walk:
        @step(initial=True)
        async def go(self, ctx: Context) -> Any:
            gone = ctx.state.get("gone", 0) + 1
            return Done(gone) if gone == 4 else Next("go", {"gone": gone})


async def all_done(app: Kairos) -> bool:
    left = await fetch(app, "select 1 from kairos.gen_durable where status <> 'done' limit 1")
    return not left


async def check_once(app: Kairos, accepted: int) -> None:
    """Every accepted job is there and succeeded, with each of its steps committed once."""
    found = await fetch(app, "select fsm, count(*) as n from kairos.gen_durable group by 1 order by 1")
    assert sum(row["n"] for row in found) == accepted
    ends = await fetch(
        app, "select job_id from kairos.history where verb = 'done' group by 1 having count(*) <> 1"
    )
    assert ends == []
    steps = """
        select g.id from kairos.gen_durable g where g.fsm = 'walk'
        and (select count(*) from kairos.history h where h.job_id = g.id and h.verb = 'next') <> 3
    """
    assert await fetch(app, steps) == []


async def test_postgres_that_crashes_under_load_loses_no_accepted_job_and_the_worker_goes_on(tmp_path):
    with Server(tmp_path / "pg", ephemeral=True) as server:
        app = Kairos(server.url())
        declare(app)
        await app.migrate()
        async with app, app.worker(poll=0.1, concurrency=20) as worker:
            calls = [app.action(name).call() for _ in range(150) for name in ("work", "walk")]
            await app.enqueue_many(calls)
            await until(lambda: worker.flusher.committed > 100)
            pid = int((tmp_path / "pg" / "postgres" / "postmaster.pid").read_text().splitlines()[0])
            os.kill(pid, signal.SIGQUIT)  # what `pg_ctl restart -m immediate` does first
            await until(lambda: not server.is_alive())
            await asyncio.to_thread(server.start)
            # What is accepted from now on counts too.
            await until(lambda: patiently(app.action("work").enqueue))
            await until(lambda: patiently(all_done, app))
            await check_once(app, len(calls) + 1)


async def patiently(ask: Any, *args: Any) -> Any:
    """The answer, or None while the database is away."""
    try:
        return await ask(*args)
    except (OSError, DatabaseUnavailable):
        return None


async def test_connections_ended_in_a_loop_while_jobs_run_cost_no_job_and_no_second_commit(database):
    app = Kairos(database)
    declare(app)
    kill = """
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and application_name like 'kairos%'
    """
    async with app, app.worker(poll=0.1, concurrency=20) as worker:
        with psycopg.connect(database, autocommit=True, application_name="nemesis") as nemesis:
            calls = [app.action(name).call() for _ in range(250) for name in ("work", "walk")]
            await app.enqueue_many(calls)
            ended_connections = 0
            while worker.flusher.committed < 1000:
                ended_connections += len(nemesis.execute(kill).fetchall())
                at_least = worker.flusher.committed + 100
                await until(lambda n=at_least: worker.flusher.committed >= min(n, 1000), "progress")
        async with Kairos(database) as eye:  # only now: nobody ends its connections any more
            await until(lambda: all_done(eye))
            await check_once(eye, 500)
    assert ended_connections > 5


async def test_a_worker_lives_through_a_change_of_the_schema_under_its_prepared_statements(database):
    app = Kairos(database)
    declare(app)
    async with working(app):
        for change in (
            "alter column trace type varchar",
            "add column more text default 'x'",
            "drop column more",
        ):
            keyed = [app.action("work").options(key="k").call() for _ in range(3)]
            for job in await app.enqueue_many([*keyed, app.action("walk").call()]):
                assert (await ended(app, job.id)).state == "success"
            await fetch(app, f"alter table kairos.gen_durable {change}")
        for job in await app.enqueue_many([*keyed, app.action("walk").call()]):
            assert (await ended(app, job.id)).state == "success"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://kairos@127.0.0.1:1/kairos",
        "postgresql:///kairos?host=/nowhere&port=5432&user=kairos",
        "postgresql://kairos:secret@127.0.0.1:1/kairos",
    ],
)
async def test_a_database_that_is_not_there_at_the_start_is_a_clear_error_without_a_password(url):
    with pytest.raises(DatabaseUnavailable, match="Postgres cannot be reached") as told:
        await Kairos(url).open()
    assert "secret" not in str(told.value)
    with pytest.raises(DatabaseUnavailable, match="Postgres cannot be reached"):
        SyncKairos(url).open()


def test_a_connection_that_postgres_has_just_ended_is_named_as_that():
    state = asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress")
    assert str(unavailable(state)) == "Postgres cannot be reached: it has ended the connection."


async def test_a_missing_database_is_a_clear_error(database):
    with pytest.raises(DatabaseUnavailable, match='database "no_such" does not exist'):
        await Kairos(database.replace(database.partition("?")[0].rpartition("/")[2], "no_such")).open()


async def test_a_read_only_database_is_refused_with_what_to_do(database):
    with psycopg.connect(database, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"alter database {name} set default_transaction_read_only = on")
    with pytest.raises(DatabaseUnavailable, match="read-only here: point Kairos at the primary"):
        await Kairos(database).open()
    with pytest.raises(DatabaseUnavailable, match="read-only here: point Kairos at the primary"):
        SyncKairos(database).open()


async def test_a_database_that_becomes_read_only_is_waited_out(database):
    app = Kairos(database)
    declare(app)
    switch = "alter database {} set default_transaction_read_only = {}"
    end = "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s and pid <> pg_backend_pid()"
    with psycopg.connect(database, autocommit=True) as admin:
        name = admin.info.dbname
        async with working(app) as worker:
            job = await app.action("work").options(delay=3600).enqueue()
            admin.execute(switch.format(name, "on"))
            admin.execute(end, [name])
            await until(lambda: worker.picker.failures > 1)
            admin.execute("set default_transaction_read_only = off")
            admin.execute(switch.format(name, "off"))
            admin.execute(end, [name])
            await until(lambda: patiently(app.run_now, job.id))
            assert (await ended(app, job.id)).state == "success"


async def test_an_app_closes_although_postgres_still_owes_it_an_answer(database, monkeypatch):
    monkeypatch.setattr(async_connections, "CLOSE_TIMEOUT", 0.2)
    app = Kairos(database)
    await app.open()
    async with app.store.connection() as connection:
        asking = asyncio.create_task(connection.execute("select pg_sleep(3600)"))
        await asyncio.sleep(0)
        await app.close()  # would wait for the connection, or for the answer
    with pytest.raises(Exception, match=r"closed|terminated"):
        await asking


def test_no_part_of_the_worker_or_the_store_reads_the_clock_of_its_machine():
    """Time is the database's: a worker whose clock is wrong by a day must not matter."""
    source = Path(kairos.__file__).parent
    found = []
    folders = ("worker", "store", "operations")
    # The heartbeat measures the skew; an intent is checked by the local clock, then read by the database's.
    excepted = {"heartbeat.py: datetime.now", "named_calls.py: datetime.now"}
    for file in [file for folder in folders for file in source.glob(f"{folder}*/**/*.py")]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in ("now", "utcnow", "today", "time", "time_ns"):
                called = ast.unparse(node)
                if not called.endswith("loop().time"):
                    found.append(f"{file.name}: {called}")
    assert set(found) == excepted
