"""The connection of `ctx.transaction()` is used by one step after the other, and none sees what another has left."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import asyncpg
import psycopg
import pytest
from psycopg.adapt import Loader
from psycopg.rows import dict_row
from tests.worker.world import ended, fetch, until, verbs

from kairos import Context, Kairos
from kairos.store import step_connections, sync_step_connections

Use = Callable[[Any], Any]
# What a step may leave: how it leaves it, and what the next one asks to see that it is gone.
LEFT: dict[str, tuple[str, str, Any]] = {
    "a setting": ("set timezone = 'Asia/Tokyo'", "select current_setting('timezone') <> 'Asia/Tokyo'", True),
    "a temporary table": (
        "create temp table mine (n int)",
        "select to_regclass('pg_temp.mine') is null",
        True,
    ),
    "a lock": (
        "select pg_advisory_lock(7)",
        "select count(*) from pg_locks where locktype = 'advisory' and objid = 7 and pid = pg_backend_pid()",
        0,
    ),
    "a prepared statement": (
        "prepare mine as select 1",
        "select count(*) from pg_prepared_statements where from_sql",
        0,
    ),
    "a channel": ("listen mine", "select count(*) from pg_listening_channels()", 0),
    "a limit": ("set transaction_timeout = 5000", "select current_setting('transaction_timeout')", "0"),
    "the name of its session": (
        "select 1",
        "select current_setting('application_name') like 'kairos step _%:_%'",
        True,
    ),
}


@pytest.fixture
def database(kairos_database: str) -> str:
    """A database of each test's own: some tests here change its tables."""
    return kairos_database


@pytest.fixture(params=["async", "def"])
async def uses(app: Kairos, request: pytest.FixtureRequest) -> Any:
    """Run a function on the connection of a step; its answer, and the process of Postgres that served it."""
    using: list[Use] = []

    @app.job
    async def use(ctx: Context) -> list[Any]:
        async with ctx.transaction() as connection:
            process = await connection.fetchval("select pg_backend_pid()")
            answer = using[-1](connection)
            return [process, (await answer) if inspect.isawaitable(answer) else answer]

    @app.job
    def use_in_thread(ctx: Context) -> list[Any]:
        with ctx.transaction() as connection:
            return [connection.info.backend_pid, using[-1](connection)]

    action = use if request.param == "async" else use_in_thread
    async with app, app.worker(poll=0.1):

        async def run(function: Use) -> Any:
            using.append(function)
            return await ended(app, (await action.enqueue()).id)

        run.is_async = request.param == "async"
        yield run


def nothing(connection: Any) -> None: ...


def ask(sql: str) -> Use:
    """Return what asks the connection of either driver for one value."""

    def asked(connection: Any) -> Any:
        if not isinstance(connection, psycopg.Connection):
            return connection.fetchval(sql)
        cursor = connection.execute(sql)
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None

    return asked


async def test_steps_that_commit_use_one_connection_one_after_the_other(uses):
    processes = {(await uses(nothing)).output[0] for _ in range(3)}
    assert len(processes) == 1


@pytest.mark.parametrize("left", LEFT)
async def test_what_a_step_leaves_is_gone_for_the_next(uses, app, left):
    leave, look, wanted = LEFT[left]
    if "transaction_timeout" in leave:
        (row,) = await fetch(app, "select current_setting('server_version_num')::int >= 170000 as known")
        if not row["known"]:
            pytest.skip("transaction_timeout is known since PostgreSQL 17")
    before = await uses(ask(leave))
    after = await uses(ask(look))
    assert (before.state, after.state) == ("success", "success"), (before.error, after.error)
    assert after.output == [before.output[0], wanted]


async def test_a_codec_that_a_step_sets_is_not_there_for_the_next(uses):
    async def decode(connection: Any) -> Any:
        await connection.set_type_codec(
            "jsonb", schema="pg_catalog", encoder=str, decoder=lambda text: f"decoded {text}"
        )
        return await connection.fetchval("select '1'::jsonb")

    def load(connection: Any) -> Any:
        connection.adapters.register_loader("jsonb", Decoding)
        return connection.execute("select '1'::jsonb").fetchone()[0]

    set_by_step = await uses(decode if uses.is_async else load)
    assert set_by_step.output[1] == "decoded 1", set_by_step.error
    assert (await uses(ask("select '1'::jsonb"))).output[1] in ("1", 1)


class Decoding(Loader):
    def load(self, data: Any) -> str:
        return f"decoded {bytes(data).decode()}"


async def test_how_a_step_wants_its_rows_is_not_how_the_next_gets_them(uses):
    if uses.is_async:
        pytest.skip("asyncpg has rows of one kind")

    def change(connection: Any) -> None:
        connection.row_factory = dict_row
        connection.prepare_threshold = 0

    (first, _) = (await uses(change)).output
    assert (
        await uses(lambda connection: type(connection.execute("select 1").fetchone()).__name__)
    ).output == [
        first,
        "tuple",
    ]


async def test_a_connection_whose_step_failed_is_not_used_again(uses):
    def fail(connection: Any) -> None:
        raise RuntimeError("no")

    (first, _) = (await uses(nothing)).output
    assert (await uses(fail)).state == "failed"
    assert (await uses(nothing)).output[0] != first


async def test_a_connection_that_is_kept_after_its_step_serves_nobody(uses, app):
    await fetch(app, "create table things (n int)")
    insert = "insert into things values (1)"
    kept: list[Callable[[], Any]] = []

    async def keep(connection: Any) -> None:
        prepared = await connection.prepare(insert)
        kept.extend([lambda: connection.execute(insert), lambda: prepared.fetch(), connection.close])

    def keep_in_thread(connection: Any) -> None:
        cursor, of_server = connection.cursor(), connection.cursor("of_server")
        of_server.execute("select generate_series(1, 3)")
        kept.extend([lambda: connection.execute(insert), lambda: cursor.execute(insert)])
        kept.extend([of_server.fetchone, connection.rollback])

    async def misuse(connection: Any) -> None:
        for late in kept:
            with pytest.raises(asyncpg.InterfaceError):
                await late()

    def misuse_in_thread(connection: Any) -> None:
        for late in kept:
            with pytest.raises(psycopg.OperationalError):
                late()

    (first, _) = (await uses(keep if uses.is_async else keep_in_thread)).output
    job = await uses(misuse if uses.is_async else misuse_in_thread)
    assert job.output == [first, None], job.error
    assert await fetch(app, "select from things") == []


async def test_a_connection_that_was_lost_since_its_step_is_nobodys_fault(uses, app):
    (first, _) = (await uses(nothing)).output
    await fetch(app, "select pg_terminate_backend($1, 5000)", first)
    job = await uses(nothing)
    assert job.state == "success" and job.output[0] != first
    assert await verbs(app, job.id) == ["done"]


async def test_a_table_that_was_changed_since_is_no_failure(uses, app):
    """The driver still knows it as it was: the job is handed back, and gets another connection."""
    await fetch(app, "create table things (n int)")
    await uses(ask("select * from things"))
    await fetch(app, "alter table things add column m int")
    job = await uses(ask("select * from things"))
    assert (job.state, job.attempt) == ("success", 0)
    assert await verbs(app, job.id) == (["release", "done"] if uses.is_async else ["done"])


async def test_connections_without_use_are_closed(uses, app, monkeypatch):
    for module in (step_connections, sync_step_connections):
        monkeypatch.setattr(module, "UNUSED", 0.1)
    await uses(nothing)

    async def closed() -> bool:
        return await sessions(app) == 0

    await until(closed)


async def sessions(app: Kairos) -> int:
    rows = await fetch(
        app,
        "select from pg_stat_activity where application_name like 'kairos step%' and datname = current_database()",
    )
    return len(rows)


async def test_steps_that_find_no_connection_left_open_their_own(app, monkeypatch):
    monkeypatch.setattr(step_connections, "MOST", 1)
    inside = 0

    @app.job
    async def together(ctx: Context) -> int:
        nonlocal inside
        async with ctx.transaction() as connection:
            inside += 1
            async with asyncio.timeout(60):
                while inside < 3:
                    await asyncio.sleep(0.01)
            return await connection.fetchval("select pg_backend_pid()")

    async with app, app.worker(poll=0.1):
        jobs = [await together.enqueue() for _ in range(3)]
        assert len({(await ended(app, job.id)).output for job in jobs}) == 3

        async def few() -> bool:
            return await sessions(app) <= 1

        await until(few)
