"""`app.on(connection)`: a job commits with one's own rows, or not at all."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session, sessionmaker
from tests.client.actions import in_state
from tests.client.connections import KINDS, Own, settle

from kairos import InvalidTransition, Kairos, SyncKairos
from kairos.errors import BadRequest, Duplicate, SchemaMismatch
from kairos.testing import drain

NASTY = {"text": "quote \" ' back \\ {brace}, $1 %s %(p1)s ?", "big": 2**53 + 1, "list": [None, True, 1.5]}


@pytest.fixture
def own_rows(database: str) -> Any:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("drop table if exists public.own; create table public.own (n int)")
        yield lambda: (connection.execute("select count(*) from public.own").fetchone() or (None,))[0]
        connection.execute("drop table public.own")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ends", ["commit", "rollback"])
async def test_a_job_and_one_s_own_row_commit_together_or_not_at_all(
    app: Kairos, database: str, own_rows: Any, kind: str, ends: str
) -> None:
    async with KINDS[kind](database) as own:
        await settle(own.write("insert into public.own values (1)"))
        job = await settle(app.on(own.connection).enqueue(app.action("echo").call(NASTY)))
        assert (own_rows(), await app.jobs()) == (0, [])
        await settle(getattr(own, ends)())
    kept = int(ends == "commit")
    assert (own_rows(), len(await app.jobs())) == (kept, kept)
    if kept:
        assert (await app.get(job.id)).input == {"value": NASTY}
        await drain(app)
        assert await app.result(job.id) == NASTY


@pytest.mark.parametrize("kind", KINDS)
async def test_a_database_without_the_schema_is_named_on_every_kind_of_connection(
    app: Kairos, database: str, kind: str
) -> None:
    elsewhere = Kairos(database, schema="not_migrated")

    @elsewhere.job
    async def act() -> None: ...

    async with KINDS[kind](database) as own:
        with pytest.raises(SchemaMismatch, match="run `kairos migrate`"):
            await settle(elsewhere.on(own.connection).enqueue(act.call()))
        await settle(own.rollback())


async def every_verb(app: Kairos, own: Own) -> None:
    on, echo = app.on(own.connection), app.action("echo")
    waiting = await in_state(app, "waiting", key="k")
    later = await settle(on.enqueue(echo.options(delay=60, tags=['a"b', "c,d"], unique="u").call(1)))
    assert later.state == "scheduled"
    read = await settle(on.get(later.id))
    assert read.inserted_at == later.inserted_at and read.inserted_at.utcoffset() is not None
    batch = await settle(on.enqueue_many([echo.options(unique=name).call() for name in ("u", "v", "v")]))
    assert [job.is_new for job in batch] == [False, True, False]
    with pytest.raises(Duplicate):
        await settle(on.enqueue(echo.options(unique="v").call()))
    assert (await settle(on.get(later.id))).tags == ('a"b', "c,d")
    assert [job.id for job in await settle(on.jobs(tag="c,d"))] == [later.id]
    assert await settle(on.signal(waiting.id, "go", NASTY, dedup_key="once")) == "woke"
    assert await settle(on.signal("u", "note", None)) == "delivered"
    assert (await settle(on.signals(waiting.id)))[0].payload == NASTY
    assert (await settle(on.run_now(later.id))).state == "pending"
    assert (await settle((await settle(on.get(later.id))).transition("cancelled"))).state == "cancelled"
    assert [row.verb for row in await settle(on.history(later.id))] == ["run_now", "cancel"]
    with pytest.raises(InvalidTransition):
        await settle(on.cancel(later.id, reason="again"))
    assert (await settle(on.retry(later.id))).retry_of == later.id
    assert (await settle(on.pause("mail"))).paused_at is not None
    assert (await settle(on.limit("mail", rate=(5, "1m"), key_rate=(1, 1)))).rate_limit == 5
    assert (await settle(on.resume("mail"))).paused_at is None
    assert {queue.name for queue in await settle(on.queues())} >= {"mail", "default"}
    assert await settle(on.workers()) == []


@pytest.mark.parametrize("kind", KINDS)
async def test_every_verb_works_on_every_kind_of_connection(app: Kairos, database: str, kind: str) -> None:
    async with KINDS[kind](database) as own:
        await every_verb(app, own)
        await settle(own.commit())
    assert len(await app.jobs(state="pending")) == 3
    async with KINDS[kind](database) as own:
        finished = await in_state(app, "success")
        assert await settle(app.on(own.connection).result(finished.id)) == "done"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_commit_tells_the_workers_and_nothing_else_does(
    app: Kairos, database: str, kind: str
) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    ear = await asyncpg.connect(database)
    await ear.add_listener("kairos", lambda *told: heard.put_nowait(told[3]))
    echo = app.action("echo")
    async with KINDS[kind](database) as own:
        untold = app.on(own.connection, hint=False)
        later = await settle(untold.enqueue(echo.options(queue="untold", delay=60).call()))
        await settle(untold.run_now(later.id))
        await settle(own.commit())
    async with KINDS[kind](database) as own:
        await settle(app.on(own.connection).enqueue(echo.options(queue="undone").call()))
        await settle(own.rollback())
    async with KINDS[kind](database) as own:
        await settle(app.on(own.connection).enqueue(echo.options(queue="told").call()))
        assert heard.empty()
        await settle(own.commit())
    async with asyncio.timeout(30):
        assert await heard.get() == "told"  # each connection is closed by now: nothing else is on its way
    await ear.close()


async def test_a_connection_that_commits_by_itself_is_one_s_own_business(app: Kairos, database: str) -> None:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        with pytest.raises(RuntimeError, match="changed my mind"):
            async with connection.transaction():
                await app.on(connection).enqueue(app.action("echo").call())
                raise RuntimeError("changed my mind")
        assert await app.jobs() == []
        async with connection.transaction():
            await app.on(connection).enqueue(app.action("echo").call())
    assert len(await app.jobs()) == 1


async def test_either_app_takes_either_kind(sync_app: SyncKairos, database: str) -> None:
    call = sync_app.action("echo").call()
    async with KINDS["asyncpg"](database) as own:
        await sync_app.on(own.connection).enqueue(call)
        await own.commit()
    async with KINDS["psycopg"](database) as own:
        sync_app.on(own.connection).enqueue(call)
        own.commit()
    assert len(sync_app.jobs()) == 2


@pytest.mark.parametrize("wrong", [None, 5, "postgresql://", ...])
async def test_what_is_no_connection_is_refused(app: Kairos, wrong: Any) -> None:
    with pytest.raises(BadRequest, match=r"app\.on\(\) takes"):
        app.on(wrong)


def test_what_gives_connections_is_no_connection(database: str) -> None:
    engine = create_engine(database.replace("postgresql", "postgresql+psycopg"))
    for given in (engine, create_async_engine(engine.url), sessionmaker(engine)):
        name = type(given).__name__
        with pytest.raises(BadRequest, match=rf"Django connection, not {name}: take a connection from it\.$"):
            Kairos(database).on(given)


async def test_a_connection_to_another_database_system_is_refused_before_it_runs_a_statement(
    app: Kairos,
) -> None:
    other = "app.on() takes a connection to Postgres, and this one is to sqlite."
    with Session(create_engine("sqlite://")) as session, pytest.raises(BadRequest) as refused:
        app.on(session).enqueue(app.action("echo").call({}))
    assert refused.value.message == other

    class OfDjango:
        vendor, settings_dict = "sqlite", {}

        def cursor(self) -> None: ...

    with pytest.raises(BadRequest) as refused:
        app.on(OfDjango())
    assert refused.value.message == other
