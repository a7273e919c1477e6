"""The connection of `ctx.transaction()` is used by one step after the other, and none sees what another has left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import pytest
from tests.worker.world import ended, fetch, until, verbs

from kairos import Context, Kairos
from kairos.store import step_connections

Use = Callable[[Any], Awaitable[Any]]
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
async def uses(app: Kairos) -> Any:
    """Run a function on the connection of a step; its answer, and the process of Postgres that served it."""
    using: list[Use] = []

    @app.job
    async def use(ctx: Context) -> list[Any]:
        async with ctx.transaction() as connection:
            process = await connection.fetchval("select pg_backend_pid()")
            return [process, await using[-1](connection)]

    async with app, app.worker(poll=0.1):

        async def run(function: Use) -> Any:
            using.append(function)
            return await ended(app, (await use.enqueue()).id)

        yield run


async def nothing(connection: Any) -> None: ...


def ask(sql: str) -> Use:
    async def asked(connection: Any) -> Any:
        return await connection.fetchval(sql)

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

    assert (await uses(decode)).output[1] == "decoded 1"
    assert (await uses(ask("select '1'::jsonb"))).output[1] == "1"


async def test_a_connection_whose_step_failed_is_not_used_again(uses, app):
    async def fail(connection: Any) -> None:
        raise RuntimeError("no")

    (first, _) = (await uses(nothing)).output
    assert (await uses(fail)).state == "failed"
    assert (await uses(nothing)).output[0] != first


async def test_a_connection_that_is_kept_after_its_step_serves_nobody(uses, app):
    kept: list[Any] = []

    async def keep(connection: Any) -> None:
        kept.append((connection, await connection.prepare("select 1")))

    async def misuse(connection: Any) -> None:
        for late in kept[0]:
            with pytest.raises(asyncpg.InterfaceError):
                await late.fetchval(*(["select 1"] if late is kept[0][0] else []))

    (first, _) = (await uses(keep)).output
    assert (await uses(misuse)).output == [first, None]


async def test_a_table_that_was_changed_since_hands_the_job_back(uses, app):
    await fetch(app, "create table things (n int)")
    look = ask("select * from things")
    await uses(look)
    await fetch(app, "alter table things add column m int")
    job = await uses(look)
    assert (job.state, job.attempt) == ("success", 0)
    assert await verbs(app, job.id) == ["release", "done"]


async def test_steps_that_find_no_connection_left_open_their_own(app, monkeypatch):
    monkeypatch.setattr(step_connections, "_MOST", 1)
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
            rows = await fetch(
                app,
                "select from pg_stat_activity where application_name like 'kairos step%'"
                " and datname = current_database()",
            )
            return len(rows) <= 1

        await until(few)
