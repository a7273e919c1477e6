"""Migrations: forward only, once, by one at a time; and the loud refusal when code and schema do not fit."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from kairos import Kairos, SyncKairos
from kairos.config import Settings
from kairos.errors import ConfigError, MigrationBlocked, SchemaMismatch
from kairos.store import migrate
from kairos.store.blocking import SyncStore
from kairos.testing import drain
from kairos.testing.plugin import with_database

ALL = [each.name for each in migrate.migrations()]
NEWEST = migrate.wanted_version()


@pytest.fixture
def bare(kairos_admin: Any, kairos_server: str) -> Iterator[str]:
    """The URL of a database that Kairos has never seen."""
    name = f"bare_{uuid4().hex[:12]}"
    kairos_admin.execute(f"create database {name} strategy wal_log")
    yield with_database(kairos_server, name)
    kairos_admin.execute(f"drop database {name} with (force)")


def ask(url: str, sql: str) -> Any:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else None


def test_the_files_are_numbered_without_a_gap() -> None:
    assert [each.version for each in migrate.migrations()] == list(range(1, len(ALL) + 1))


async def test_a_bare_database_is_brought_up_once_and_then_left_alone(bare: str) -> None:
    app = Kairos(bare)
    assert await app.migrate() == ALL
    assert await app.migrate() == []
    assert [row[0] for row in ask(bare, "select name from kairos.migrations order by version")] == ALL
    async with app:
        assert await app.migrate() == []
    with SyncKairos(bare) as sync:
        assert sync.migrate() == []


def test_the_sync_app_migrates_too(bare: str) -> None:
    app = SyncKairos(bare)
    assert (app.migrate(), app.migrate()) == (ALL, [])
    app.close()


def test_what_other_threads_commit_meanwhile_is_not_in_its_transaction(
    bare: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[object] = []
    monkeypatch.setattr(migrate, "migrate_sync", lambda connection, *_, **__: used.append(connection) or [])
    store = SyncStore(bare, Settings())
    shared = store.open()
    store.migrate()
    assert used and used[0] is not shared and used[0].closed and not shared.closed
    store.close()


async def test_of_several_migrators_at_once_each_migration_is_done_by_one_and_none_fails(bare: str) -> None:
    done = await asyncio.gather(*(Kairos(bare).migrate() for _ in range(4)))
    assert sorted(name for each in done for name in each) == ALL


async def test_an_older_schema_gets_only_what_it_lacks(bare: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = migrate.migrations
    with monkeypatch.context() as past:
        past.setattr(migrate, "migrations", lambda schema="kairos": whole(schema)[:1])
        assert await Kairos(bare).migrate() == ALL[:1]
    assert await Kairos(bare).migrate() == ALL[1:]


async def test_a_migration_that_fails_leaves_nothing_of_itself_and_all_before_it(
    bare: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = migrate.Migration(99, "0099_broken", "create table kairos.half (); select 1 / 0")
    whole = migrate.migrations
    with monkeypatch.context() as future:
        future.setattr(migrate, "migrations", lambda schema="kairos": (*whole(schema), broken))
        with pytest.raises(Exception, match="division by zero"):
            await Kairos(bare).migrate()
    assert ask(bare, "select to_regclass('kairos.half')") == [(None,)]
    assert await Kairos(bare).migrate() == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("drop schema kairos cascade", "The database has no Kairos schema yet: run `kairos migrate`."),
        ("delete from kairos.migrations", "The database has no Kairos schema yet: run `kairos migrate`."),
        (
            f"delete from kairos.migrations where version = {NEWEST}",
            f"The schema is at version {NEWEST - 1} and this Kairos needs {NEWEST}: run `kairos migrate`.",
        ),
        (
            f"insert into kairos.migrations values ({NEWEST + 1}, 'later')",
            f"The schema is at version {NEWEST + 1}, newer than the {NEWEST} this Kairos knows: upgrade Kairos.",
        ),
    ],
)
async def test_code_and_schema_that_do_not_fit_are_refused_with_what_to_do(
    kairos_database: str, change: str, sentence: str
) -> None:
    ask(kairos_database, change)
    for refuse in (Kairos(kairos_database).open, SyncKairos(kairos_database).open):
        with pytest.raises(SchemaMismatch) as refused:
            await answer if (answer := refuse()) is not None else None
        assert refused.value.message == sentence


async def test_a_newer_schema_is_never_migrated_back(kairos_database: str) -> None:
    ask(kairos_database, f"insert into kairos.migrations values ({NEWEST + 1}, 'later')")
    with pytest.raises(SchemaMismatch, match="upgrade Kairos"):
        await Kairos(kairos_database).migrate()
    with pytest.raises(SchemaMismatch, match="upgrade Kairos"):
        SyncKairos(kairos_database).migrate()


async def test_everything_works_in_a_schema_of_another_name(bare: str) -> None:
    app = Kairos(bare, schema="other")
    assert await app.migrate() == ALL

    @app.job(retry=lambda error, ctx: None)
    async def double(number: int) -> int:
        return number * 2

    async with app:
        job = await double.options(unique="once", key="k").enqueue(21)
        assert await app.signal("once", "note", {"a": 1}) == "delivered"
        assert await drain(app) == 1
        assert await app.result(job.id) == 42
        assert [row.verb for row in await app.history(job.id)] == ["done"]
        with SyncKairos(bare, schema="other") as sync:
            assert sync.get(job.id).output == 42
        async with app.worker(poll=0.1):
            again = await app.retry(job.id)
            assert await app.result(again.id, timeout=20) == 42
    assert ask(bare, "select to_regnamespace('kairos')") == [(None,)]


async def test_two_schemas_in_one_database_do_not_see_each_other(bare: str) -> None:
    apps = [Kairos(bare, schema="one"), Kairos(bare, schema="two")]
    for app in apps:
        await app.migrate()
        app.job(name="act")(lambda: None)
    async with apps[0], apps[1]:
        await apps[0].action("act").enqueue()
        assert (len(await apps[0].jobs()), len(await apps[1].jobs())) == (1, 0)
        assert (await drain(apps[1]), await drain(apps[0])) == (0, 1)


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> migrate.Migration:
    """One more migration, which needs a table for itself; the tries are short."""
    more = migrate.Migration(NEWEST + 1, "more", "alter table kairos.queues add column more int")
    whole = migrate.migrations
    monkeypatch.setattr(migrate, "migrations", lambda schema="kairos": (*whole(schema), more))
    monkeypatch.setattr(migrate, "LOCK_TIMEOUT", timedelta(milliseconds=50))
    monkeypatch.setattr(migrate, "PAUSES", (0.01, 0.01))
    return more


def holder(url: str) -> psycopg.Connection[Any]:
    """Somebody who read a table and then went to lunch."""
    connection = psycopg.connect(url, application_name="lunch")
    connection.execute("select * from kairos.queues")
    return connection


@pytest.mark.parametrize("app", [Kairos, SyncKairos], ids=["async", "sync"])
async def test_a_migration_that_is_kept_waiting_gives_up_and_names_who_is_in_its_way(
    kairos_database: str, waiting: migrate.Migration, app: Any
) -> None:
    with holder(kairos_database) as blocking:
        with pytest.raises(MigrationBlocked) as blocked:
            await answer if asyncio.iscoroutine(answer := app(kairos_database).migrate()) else None
        pid = blocking.info.backend_pid
        assert f"pid {pid} (lunch, idle in transaction), on queues, open for " in blocked.value.message
        assert f"`select pg_terminate_backend({pid})`" in blocked.value.message
    assert ask(kairos_database, "select max(version) from kairos.migrations") == [(NEWEST,)]
    assert await Kairos(kairos_database).migrate() == [waiting.name]


async def test_nobody_waits_behind_a_migration_that_waits(
    kairos_database: str, waiting: migrate.Migration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        migrate, "PAUSES", (60.0,)
    )  # it pauses between its tries for longer than the test takes
    migrating = asyncio.create_task(Kairos(kairos_database).migrate())
    with holder(kairos_database):
        tried = "select count(*) from pg_stat_activity where datname = current_database() and state = 'idle'"
        while not ask(kairos_database, f"{tried} and query ilike 'rollback%'")[0][0]:
            await asyncio.sleep(0.01)
        ask(kairos_database, "set lock_timeout = '10s'; insert into kairos.queues (name) values ('mail')")
    migrating.cancel()
    with pytest.raises(asyncio.CancelledError):
        await migrating


def test_a_migration_goes_on_once_the_way_is_free(
    kairos_database: str, waiting: migrate.Migration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "PAUSES", (0.05,) * 1000)
    tried = threading.Event()
    slept = migrate.time.sleep
    monkeypatch.setattr(migrate.time, "sleep", lambda seconds: (tried.set(), slept(seconds)))
    blocking = holder(kairos_database)
    leaving = threading.Thread(target=lambda: (tried.wait(60), blocking.close()))
    leaving.start()
    assert SyncKairos(kairos_database).migrate() == [waiting.name]
    leaving.join()


async def test_a_migrator_waits_for_another_however_long_that_takes(
    kairos_database: str, waiting: migrate.Migration
) -> None:
    with psycopg.connect(kairos_database) as other:
        other.execute(f"select pg_advisory_xact_lock({migrate._LOCK})".encode())
        migrating = asyncio.create_task(Kairos(kairos_database).migrate())
        queued = "select count(*) from pg_locks where locktype = 'advisory' and not granted and database = "
        while not ask(
            kairos_database, f"{queued}(select oid from pg_database where datname = current_database())"
        )[0][0]:
            await asyncio.sleep(0.01)
        await asyncio.sleep(3 * migrate.LOCK_TIMEOUT.total_seconds())
        assert not migrating.done()
    assert await migrating == [waiting.name]


async def test_the_retention_of_the_audit_log_is_put_into_the_database_by_a_migration(
    kairos_database: str,
) -> None:
    kept = "select kairos.audit_retention()"
    assert ask(kairos_database, kept) == [(timedelta(days=400),)]
    assert await Kairos(kairos_database, audit_retention="90d").migrate() == []
    assert ask(kairos_database, kept) == [(timedelta(days=90),)]
    await Kairos(kairos_database).migrate()
    assert ask(kairos_database, kept) == [(timedelta(days=90),)], "who says nothing changes nothing"
    SyncKairos(kairos_database, audit_retention=timedelta(days=30)).migrate()
    assert ask(kairos_database, kept) == [(timedelta(days=30),)]


@pytest.mark.parametrize("wrong", ["23h", "soon", -1])
def test_a_retention_of_the_audit_log_that_makes_no_sense_is_refused(
    kairos_database: str, wrong: Any
) -> None:
    with pytest.raises(ConfigError, match="audit_retention"):
        Kairos(kairos_database, audit_retention=wrong)
