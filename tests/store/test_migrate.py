"""Migrations: forward only, once, by one at a time; and the loud refusal when code and schema do not fit."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.store.old_databases import ask, files

from kairos import Kairos, SyncKairos
from kairos.config import Settings
from kairos.errors import ConfigError, MigrationBlocked, SchemaMismatch
from kairos.store import migrate, migration_files, migration_runner
from kairos.store.sync_store import SyncStore
from kairos.testing import drain

NUMBERED = [each.name for each in migrate.migrations()]
ALL = [*NUMBERED, migrate.GUARD, migrate.INTERFACE]
NEWEST = migrate.wanted_version()
ONE_BEFORE = migrate.migrations()[-2].version


async def test_a_bare_database_is_brought_up_once_and_then_left_alone(bare: str) -> None:
    app = Kairos(bare)
    assert await app.migrate() == ALL
    assert await app.migrate() == []
    assert [row[0] for row in ask(bare, "select name from kairos.migrations order by version")] == NUMBERED
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
    store = SyncStore(bare, Settings())
    shared = store.open()
    connect = store.connect_for_migration
    monkeypatch.setattr(store, "connect_for_migration", lambda: used.append(connect()) or used[-1])
    store.migrate()
    assert len(used) == 2 and shared not in used and all(each.closed for each in used) and not shared.closed
    store.close()


async def test_of_several_migrators_at_once_each_migration_is_done_by_one_and_none_fails(bare: str) -> None:
    done = await asyncio.gather(*(Kairos(bare).migrate() for _ in range(4)))
    assert sorted(name for each in done for name in each) == ALL, (
        "the guard and the SQL interface are two of them"
    )


async def test_an_older_schema_gets_only_what_it_lacks(
    bare: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as past:
        past.setattr(migration_files, "FOLDER", files(tmp_path, upto=4))
        assert await Kairos(bare).migrate() == [*ALL[:4], migrate.GUARD]
    assert await Kairos(bare).migrate() == [*NUMBERED[4:], migrate.INTERFACE]


async def test_a_step_that_fails_leaves_nothing_of_itself_and_all_before_it(
    bare: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as future:
        broken = "create table kairos.half (); select 1 / 0"
        future.setattr(migration_files, "FOLDER", files(tmp_path, m9999_broken=broken))
        with pytest.raises(Exception, match="division by zero"):
            await Kairos(bare).migrate()
    assert ask(bare, "select to_regclass('kairos.half')") == [(None,)]
    assert await Kairos(bare).migrate() == [migrate.GUARD, migrate.INTERFACE]
    async with Kairos(bare):
        pass


# A later migration, of code that this one does not know, that removed something.
LATER = f"""
insert into kairos.migrations values ({NEWEST + 1}, 'later');
insert into kairos.migration_steps (version, step, name, checksum, breaks_before)
values ({NEWEST + 1}, 1, 'remove', '', {NEWEST + 1})
"""


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("drop schema kairos cascade", "The database has no Kairos schema yet: run `kairos migrate`."),
        ("delete from kairos.migrations", "The database has no Kairos schema yet: run `kairos migrate`."),
        (
            f"delete from kairos.migrations where version = {NEWEST}",
            f"The schema is at version {ONE_BEFORE} and this Kairos needs {NEWEST}: run `kairos migrate`.",
        ),
        (
            LATER,
            f"The schema is at version {NEWEST + 1}, newer than the {NEWEST} this Kairos knows, and no longer has all "
            "that it uses: upgrade Kairos.",
        ),
        (
            "delete from kairos.guards",
            "The database does not have the lifecycle guard of this Kairos yet: run `kairos migrate`.",
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
    ask(kairos_database, LATER)
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
            assert await app.result(again.id, timeout=60) == 42
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
def waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """One more migration, which needs a table for itself; the tries are short."""
    more = "alter table kairos.queues add column more int"
    monkeypatch.setattr(migration_files, "FOLDER", files(tmp_path, m9999_more=more))
    monkeypatch.setattr(migration_runner, "LOCK_TIMEOUT", timedelta(milliseconds=50))
    monkeypatch.setattr(migrate, "PAUSES", (0.01, 0.01))
    return "9999_more"


def holder(url: str) -> psycopg.Connection[Any]:
    """A transaction that read a table and is left open."""
    connection = psycopg.connect(url, application_name="lunch")
    connection.execute("select * from kairos.queues")
    return connection


@pytest.mark.parametrize("app", [Kairos, SyncKairos], ids=["async", "sync"])
async def test_a_migration_that_is_kept_waiting_gives_up_and_names_who_is_in_its_way(
    kairos_database: str, waiting: str, app: Any
) -> None:
    with holder(kairos_database) as blocking:
        with pytest.raises(MigrationBlocked) as blocked:
            await answer if asyncio.iscoroutine(answer := app(kairos_database).migrate()) else None
        pid = blocking.info.backend_pid
        assert f"pid {pid} (lunch, idle in transaction), on queues, open for " in blocked.value.message
        assert f"`select pg_terminate_backend({pid})`" in blocked.value.message
    assert ask(kairos_database, "select max(version) from kairos.migrations") == [(NEWEST,)]
    assert await Kairos(kairos_database).migrate() == [waiting]


async def test_nobody_waits_behind_a_migration_that_waits(
    kairos_database: str, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It pauses between its tries for longer than the test takes.
    monkeypatch.setattr(migrate, "PAUSES", (60.0,))
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
    kairos_database: str, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "PAUSES", (0.05,) * 1000)
    tried = threading.Event()
    slept = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: (tried.set(), slept(seconds)))
    blocking = holder(kairos_database)
    leaving = threading.Thread(target=lambda: (tried.wait(60), blocking.close()))
    leaving.start()
    assert SyncKairos(kairos_database).migrate() == [waiting]
    leaving.join()


async def test_a_migrator_waits_for_another_without_a_snapshot_in_its_way(
    kairos_database: str, waiting: str
) -> None:
    with psycopg.connect(kairos_database) as other:
        other.execute(f"select pg_advisory_xact_lock({migration_runner.MUTEX})".encode())
        migrating = asyncio.create_task(Kairos(kairos_database).migrate())
        refused = (
            "select count(*) from pg_stat_activity where datname = current_database() and state = 'idle'"
        )
        while not ask(kairos_database, f"{refused} and query = 'rollback'")[0][0]:
            await asyncio.sleep(0.01)
        waiting_lock = (
            "select count(*) from pg_locks l join pg_database d on d.oid = l.database"
            " where d.datname = current_database() and l.locktype = 'advisory' and not l.granted"
        )
        assert ask(kairos_database, waiting_lock) == [(0,)]
        assert not migrating.done()
    assert await migrating == [waiting]


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
