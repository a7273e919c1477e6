"""Every connection states what it needs: a role or a database may carry any setting."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import uvloop
from tests.worker.world import ended, fetch, until, working

from kairos import Await, Context, Done, Kairos, SyncKairos, step
from kairos.errors import ConfigError
from kairos.store.connection_settings import Deadlines, keep_alive
from kairos.store.driver_errors import UNAVAILABLE

# What an administrator may have set for other programs, or another team for a shared database.
HOSTILE = {
    "default_transaction_isolation": "serializable",
    "synchronous_commit": "off",
    "search_path": "''",
    "timezone": "'Asia/Kolkata'",
    "datestyle": "'SQL, DMY'",
    "intervalstyle": "'sql_standard'",
    "bytea_output": "'escape'",
    "extra_float_digits": "-15",
    "standard_conforming_strings": "off",
    "array_nulls": "off",
    "transform_null_equals": "on",
    "exit_on_error": "on",
    "row_security": "off",
    "statement_timeout": "'1ms'",
    "lock_timeout": "'1ms'",
    "idle_in_transaction_session_timeout": "'1ms'",
    "idle_session_timeout": "'100ms'",
    "client_encoding": "'latin1'",
}


def carry(database: str, settings: dict[str, str]) -> None:
    """Let every later connection to the database begin with these settings."""
    with psycopg.connect(database, autocommit=True, options="-c statement_timeout=0") as connection:
        for name, value in settings.items():
            connection.execute(f"alter database {connection.info.dbname} set {name} = {value}".encode())


@pytest.fixture
def hostile(database: str) -> Iterator[str]:
    carry(database, HOSTILE)
    yield database


def declare(app: Kairos) -> None:
    @app.machine("waits")
    class Waits:
        @step(initial=True)
        async def wait(self, ctx: Context) -> Any:
            while (signal := ctx.take("go")) is None:
                return Await("go")
            return Done(signal.payload)

    @app.job
    async def write(ctx: Context, n: float) -> Any:
        async with ctx.transaction() as connection:
            return await connection.fetchval("select $1::float8", n)

    @app.job
    def write_in_thread(ctx: Context, n: float) -> Any:
        with ctx.transaction() as connection:
            return connection.execute("select %s::float8", [n]).fetchone()[0]


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
async def test_no_wake_is_lost_whatever_isolation_the_database_defaults_to(database, isolation):
    """A signal that is committed after the transaction of the park has begun wakes the job."""
    carry(database, {"default_transaction_isolation": f"'{isolation}'"})
    app = Kairos(database)
    running, noted, begun, park = (asyncio.Event() for _ in range(4))

    @app.machine("waits")
    class Waits:
        @step(initial=True)
        async def wait(self, ctx: Context) -> Any:
            if (signal := ctx.take("go")) is not None:
                return Done(signal.payload)
            running.set()
            await noted.wait()
            async with ctx.transaction() as connection:
                await connection.fetchval("select 1")
                begun.set()
                await park.wait()
            return Await("go")

    async with working(app):
        job = await app.action("waits").enqueue()
        await running.wait()
        await app.signal(job.id, "note")  # the job's row is marked by now: the next signal leaves it alone
        noted.set()
        await begun.wait()
        await app.signal(job.id, "go", 42)
        park.set()
        assert (await ended(app, job.id)).output == 42


async def test_a_worker_works_on_a_database_with_hostile_settings(hostile):
    app = Kairos(hostile)
    declare(app)
    async with working(app, queues={"default": 5}):
        jobs = [
            await app.action("write").options(key="k", delay="10ms").enqueue(n=0.1),
            await app.action("write_in_thread").enqueue(n=0.1),
        ]
        waiting = await app.action("waits").options(unique="w", ttl="1h").enqueue()
        await app.signal("w", "go", {"at": "noon"})
        for job in jobs:
            assert (await ended(app, job.id)).output == 0.1
        assert (await ended(app, waiting.id)).output == {"at": "noon"}


def test_the_sync_app_works_on_a_database_with_hostile_settings(hostile):
    with SyncKairos(hostile) as app:

        @app.job
        def hello(n: int, name: str) -> int:
            return n

        jobs = app.enqueue_many(
            [hello.options(unique=f"u{n}", delay="1h").call(n=n, name="時") for n in range(3)]
        )
        assert [app.get(job.id).input for job in jobs] == [{"n": n, "name": "時"} for n in range(3)]
        assert app.get(jobs[0].id).run_at.utcoffset().total_seconds() == 0
        assert app.migrate() == []


async def settings_of(connection: Any, *names: str) -> list[str]:
    return [await connection.fetchval("select current_setting($1)", name) for name in names]


STATED = ("default_transaction_isolation", "synchronous_commit", "lock_timeout")


async def test_every_kind_of_connection_states_isolation_durability_and_deadlines(hostile):
    async with Kairos(hostile) as app:
        async with app.store.connection() as connection:
            assert await settings_of(connection, *STATED) == ["read committed", "on", "5s"]
        async with app.store.connections.unsynced() as connection:
            assert await settings_of(connection, *STATED) == ["read committed", "off", "5s"]
        for connect in (app.store.connect, app.store.take_step_connection):
            connection = await connect()
            isolation, durable, lock = await settings_of(connection, *STATED)
            assert (isolation, durable) == ("read committed", "on") and lock != "1ms"
            assert await settings_of(connection, "idle_session_timeout") == ["0"]
            assert "0" not in await settings_of(connection, "idle_in_transaction_session_timeout")
            await connection.close()


async def test_a_transaction_timeout_of_the_database_ends_no_step_and_no_migration(database):
    """Postgres has this setting since version 17; an older server refuses connections that name it."""
    with psycopg.connect(database) as connection:
        if connection.info.server_version < 170000:
            pytest.skip("this Postgres has no transaction_timeout")
    carry(database, {"transaction_timeout": "'200ms'"})
    app = Kairos(database)

    @app.job
    async def write(ctx: Context) -> Any:
        async with ctx.transaction() as connection:
            return await connection.fetchval("select 1 from pg_sleep(0.5)")

    @app.job
    def write_in_thread(ctx: Context) -> Any:
        with ctx.transaction() as connection:
            return connection.execute("select 1 from pg_sleep(0.5)").fetchone()[0]

    async with working(app):
        for job in (await write.enqueue(), await write_in_thread.enqueue()):
            assert (await ended(app, job.id)).output == 1
        for connect in (app.store.connect, app.store.connections.connect_for_migration):
            connection = await connect()
            assert await settings_of(connection, "transaction_timeout") == ["0"]
            await connection.close()
    with SyncKairos(database) as sync_app:
        for connect in (sync_app.store.connect, sync_app.store.connect_for_migration):
            with connect() as connection:
                assert connection.execute("show transaction_timeout").fetchone() == ("0",)


def test_a_session_without_triggers_is_refused(database):
    """The guard and the ledger are triggers: an administrator may have turned them off for a restore or a replica."""
    carry(database, {"session_replication_role": "replica"})
    with pytest.raises(ConfigError, match="session_replication_role = 'replica'"), SyncKairos(database):
        pass

    async def opened() -> None:
        async with Kairos(database):
            pass

    with pytest.raises(ConfigError, match="session_replication_role = 'replica'"):
        asyncio.run(opened())


async def test_the_keeper_states_isolation_and_deadlines_too(hostile):
    app = Kairos(hostile)
    held = asyncio.Event()

    @app.job
    async def hold() -> None:
        await held.wait()

    renewed = "select max(lease_expires_at) as at from kairos.gen_durable"
    async with working(app, lease=5):
        job = await hold.enqueue()

        async def lease() -> Any:
            return (await fetch(app, renewed))[0]["at"]

        first = await until(lease)

        async def is_renewed() -> bool:
            return await lease() != first

        await until(is_renewed)
        held.set()
        assert (await ended(app, job.id)).state == "success"
        assert [row.verb for row in await app.history(job.id)] == ["done"]


async def test_the_sql_of_a_step_is_planned_with_the_settings_of_its_role(database):
    carry(database, {"enable_seqscan": "on", "plan_cache_mode": "force_custom_plan", "search_path": "other"})
    app = Kairos(database)
    names = ("enable_seqscan", "plan_cache_mode", "search_path")

    @app.job
    async def look(ctx: Context) -> Any:
        async with ctx.transaction() as connection:
            return await settings_of(connection, *names)

    @app.job
    def look_in_thread(ctx: Context) -> Any:
        with ctx.transaction() as connection:
            return [connection.execute("select current_setting(%s)", [name]).fetchone()[0] for name in names]

    async with working(app):
        for job in (await look.enqueue(), await look_in_thread.enqueue()):
            assert (await ended(app, job.id)).output == ["on", "force_custom_plan", "other"]


@pytest.mark.parametrize(("lease", "as_if"), [(0.3, 5), (7, 7), (10, 10), (3600, 10)])
def test_deadlines_follow_the_lease_within_bounds(lease, as_if):
    found, expected = Deadlines(lease), Deadlines(as_if)
    assert (found.statement, found.lock, found.connect) == (
        expected.statement,
        expected.lock,
        expected.connect,
    )
    assert found.lock < found.statement < as_if


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_a_connection_that_is_closed_while_it_is_set_up_counts_as_lost(run):
    """Any other error than a lost connection would end the loop of a worker."""

    async def closed_at_once() -> None:
        server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, "127.0.0.1", port)
        line = transport.get_extra_info("socket")
        transport.abort()
        while line.fileno() >= 0:
            await asyncio.sleep(0.01)
        with pytest.raises(UNAVAILABLE):
            keep_alive(line, Deadlines(10))
        server.close()

    run(closed_at_once())
