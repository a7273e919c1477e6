"""Migrations: forward only, once, by one at a time; and the loud refusal when code and schema do not fit."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from kairos import Kairos, SyncKairos
from kairos.errors import SchemaMismatch
from kairos.store import migrate
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


async def test_of_several_migrators_at_once_one_does_the_work_and_none_fails(bare: str) -> None:
    done = await asyncio.gather(*(Kairos(bare).migrate() for _ in range(4)))
    assert sorted(done, key=len) == [[], [], [], ALL]


async def test_an_older_schema_gets_only_what_it_lacks(bare: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = migrate.migrations
    with monkeypatch.context() as past:
        past.setattr(migrate, "migrations", lambda schema="kairos": whole(schema)[:1])
        assert await Kairos(bare).migrate() == ALL[:1]
    assert await Kairos(bare).migrate() == ALL[1:]


async def test_a_migration_that_fails_leaves_nothing_behind(
    bare: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = migrate.Migration(99, "0099_broken", "select 1 / 0")
    whole = migrate.migrations
    monkeypatch.setattr(migrate, "migrations", lambda schema="kairos": (*whole(schema), broken))
    with pytest.raises(Exception, match="division by zero"):
        await Kairos(bare).migrate()
    assert ask(bare, "select to_regnamespace('kairos')") == [(None,)]


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
