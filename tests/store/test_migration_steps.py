"""Migrations in steps: each its own transaction, resumed where it stopped, and never edited once applied."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.store.old_databases import as_released, ask, files

from kairos import Kairos, SyncKairos
from kairos.errors import MigrationBlocked, SchemaMismatch
from kairos.store import migrate, migration_files, migration_runner
from kairos.store.migration_files import parse, wanted_version

TWO_STEPS = """\
-- Weights of queues.

-- step: add the column
alter table kairos.queues add column weight int;

-- step: build the index (outside a transaction)
create index concurrently queues_weight on kairos.queues (weight);
"""
VALID = "select indisvalid from pg_index where indexrelid = to_regclass('kairos.queues_weight')"


@pytest.fixture
def future(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the folder of migrations to the real ones and those given."""

    def use(**later: str) -> Path:
        folder = files(tmp_path / "migrations", **later)
        monkeypatch.setattr(migration_files, "FOLDER", folder)
        return folder

    return use


def test_a_file_is_split_at_its_step_lines() -> None:
    migration = parse("0099_weights", TWO_STEPS)
    assert [(step.number, step.name, step.outside, step.builds) for step in migration.steps] == [
        (1, "add the column", False, None),
        (2, "build the index", True, "queues_weight"),
    ]
    assert (migration.version, migration.breaks_before, migration.optional) == (99, 0, False)


def test_a_file_without_step_lines_is_one_step_and_its_header_may_say_more() -> None:
    assert [step.name for step in parse("0099_plain", "select 1;").steps] == ["0099_plain"]
    migration = parse("0099_x", "-- breaks code before: 42\n-- optional\n-- step: one\nselect 1;")
    assert (migration.breaks_before, migration.optional) == (42, True)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("select 1;\n-- step: one\nselect 2;", "SQL before its first step"),
        ("-- step: one (outside a transaction)\nvacuum kairos.queues;", "nothing else can be resumed"),
        (
            "-- step: one (outside a transaction)\ncreate index concurrently a on kairos.queues (name); select 1;",
            "must be one",
        ),
        ("-- step: one (outside a transaction)\ndrop index concurrently kairos.a;", "must be one"),
    ],
)
def test_a_file_that_could_not_be_resumed_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        parse("0099_x", text)


def test_released_migrations_build_and_drop_each_index_by_itself() -> None:
    for each in migration_files.migrations():
        if each.version in (9, 10):
            for step in each.steps:
                assert step.outside == ("index" in step.sql), step.name


async def test_a_migration_goes_on_at_the_step_where_it_stopped(bare: str, future: Any) -> None:
    broken = TWO_STEPS + "\n-- step: fail\nselect 1 / 0;\n"
    folder = future(m9999_weights=broken)
    with pytest.raises(Exception, match="division by zero"):
        await Kairos(bare).migrate()
    done = "select step, name from kairos.migration_steps where version = 9999 order by step"
    assert ask(bare, done) == [(1, "add the column"), (2, "build the index")]
    assert ask(bare, "select count(*) from kairos.migrations") == [(0,)], "no version is published halfway"
    (folder / "9999_weights.sql").write_text(TWO_STEPS + "\n-- step: succeed\nselect 1;\n")
    assert await Kairos(bare).migrate() == ["9999_weights", migrate.GUARD, migrate.INTERFACE]
    assert ask(bare, f"select max(version) from kairos.migrations where exists ({VALID})") == [(9999,)]


@pytest.mark.parametrize("app", [Kairos, SyncKairos], ids=["async", "sync"])
async def test_a_migrator_that_is_frozen_inside_a_step_keeps_its_locks_for_two_seconds(
    kairos_database: str, future: Any, app: Any
) -> None:
    """Postgres ends the transaction of a step in which no statement follows; the mutex is kept."""
    idle = "current_setting('idle_in_transaction_session_timeout')"
    future(m9999_noted=f"-- step: note the limit\ncreate table kairos.noted as select {idle} as idle;")
    migrated = app(kairos_database).migrate()
    assert (migrated if app is SyncKairos else await migrated) == ["9999_noted"]
    assert ask(kairos_database, "select idle from kairos.noted") == [("2s",)]


def test_an_index_that_an_interrupted_build_left_invalid_is_dropped_and_built_again(
    kairos_database: str, future: Any
) -> None:
    future(m9999_weights=TWO_STEPS)
    with pytest.raises(psycopg.Error, match="queues_weight"), psycopg.connect(kairos_database) as connection:
        connection.autocommit = True
        connection.execute("insert into kairos.queues (name) values ('a'), ('b')")
        connection.execute("create unique index concurrently queues_weight on kairos.queues ((1))")
    assert ask(kairos_database, VALID) == [(False,)]
    assert SyncKairos(kairos_database).migrate() == ["9999_weights"]
    assert ask(kairos_database, VALID) == [(True,)]


def test_an_index_that_was_built_and_not_recorded_is_kept(kairos_database: str, future: Any) -> None:
    future(m9999_weights=TWO_STEPS)
    SyncKairos(kairos_database).migrate()
    number = "select to_regclass('kairos.queues_weight')::oid"
    before = ask(kairos_database, number)
    ask(kairos_database, "delete from kairos.migration_steps where version = 9999 and step = 2")
    ask(kairos_database, "delete from kairos.migrations where version = 9999")
    assert SyncKairos(kairos_database).migrate() == ["9999_weights"]
    assert ask(kairos_database, number) == before


def test_a_concurrent_build_that_is_kept_waiting_names_the_transaction(
    kairos_database: str, future: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    future(m9999_weights=TWO_STEPS)
    monkeypatch.setattr(migration_runner, "SNAPSHOT_TIMEOUT", timedelta(milliseconds=100))
    monkeypatch.setattr(migrate, "PAUSES", (0.01,))
    with psycopg.connect(kairos_database, application_name="report") as reader:
        reader.execute("set transaction isolation level repeatable read")
        reader.execute("select 1")
        with pytest.raises(MigrationBlocked) as blocked:
            SyncKairos(kairos_database).migrate()
        assert f"pid {reader.info.backend_pid} (report, idle in transaction)" in blocked.value.message
    assert SyncKairos(kairos_database).migrate() == ["9999_weights"]
    assert ask(kairos_database, VALID) == [(True,)]


@pytest.mark.parametrize("app", [Kairos, SyncKairos], ids=["async", "sync"])
async def test_a_migration_that_was_edited_after_it_was_applied_is_refused_by_name(
    kairos_database: str, future: Any, app: Any
) -> None:
    folder = future(m9999_weights=TWO_STEPS)
    await Kairos(kairos_database).migrate()
    (folder / "9999_weights.sql").write_text(TWO_STEPS.replace("weight int", "weight bigint"))
    with pytest.raises(SchemaMismatch) as refused:
        await answer if not isinstance(answer := app(kairos_database).migrate(), list) else None
    assert refused.value.message == (
        "Migration 9999_weights was edited after its step 1 (add the column) was applied to this database: "
        "restore the file, and make the change in a new migration."
    )


async def test_what_code_without_steps_applied_is_recorded_with_its_checksums(bare: str, future: Any) -> None:
    as_released(bare, 10)
    folder = future()
    await Kairos(bare).migrate()
    (folder / "0008_job_retry.sql").write_text("alter table kairos.gen_durable add column retry text;")
    with pytest.raises(SchemaMismatch, match="0008_job_retry was edited"):
        await Kairos(bare).migrate()


async def test_a_number_that_arrives_after_a_higher_one_is_still_applied(
    kairos_database: str, future: Any
) -> None:
    future(m9998_second="create table kairos.second ()")
    assert await Kairos(kairos_database).migrate() == ["9998_second"]
    future(m9997_first="create table kairos.first ()")
    with pytest.raises(SchemaMismatch, match="run `kairos migrate`"):
        await Kairos(kairos_database).open()
    assert await Kairos(kairos_database).migrate() == ["9997_first"]
    async with Kairos(kairos_database):
        pass


async def test_older_code_starts_on_a_newer_schema_that_still_has_what_it_uses(
    kairos_database: str, future: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    future(m9998_more=TWO_STEPS)
    await Kairos(kairos_database).migrate()
    monkeypatch.setattr(migration_files, "FOLDER", files(tmp_path / "older"))
    async with Kairos(kairos_database) as app:
        assert await app.migrate() == []
    future(m9999_less=f"-- breaks code before: {wanted_version() + 1}\n-- step: remove\nselect 1;")
    await Kairos(kairos_database).migrate()
    monkeypatch.setattr(migration_files, "FOLDER", files(tmp_path / "older"))
    with pytest.raises(SchemaMismatch, match="upgrade Kairos"):
        await Kairos(kairos_database).open()


async def test_newer_code_starts_without_a_migration_that_only_makes_it_faster(
    kairos_database: str, future: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    required = "create table kairos.required ()"
    slow = "-- optional\n-- step: build (outside a transaction)\n" + (
        "create index concurrently queues_faster on kairos.queues (paused_at);"
    )
    future(m9998_required=required, m9999_faster=slow)
    monkeypatch.setattr(migration_runner, "SNAPSHOT_TIMEOUT", timedelta(milliseconds=100))
    monkeypatch.setattr(migrate, "PAUSES", ())
    with psycopg.connect(kairos_database) as reader:
        reader.execute("set transaction isolation level repeatable read")
        reader.execute("select 1")
        with pytest.raises(MigrationBlocked, match="after 9998_required"):
            await Kairos(kairos_database).migrate()
        async with Kairos(kairos_database):
            pass
    assert await Kairos(kairos_database).migrate() == ["9999_faster"]
