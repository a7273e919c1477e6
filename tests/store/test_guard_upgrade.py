"""The guard is no numbered migration: a change of the lifecycle reaches databases that exist."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import psycopg
import pytest
from tests.store.old_databases import as_released, ask
from tests.store.stored_jobs import BIRTH, living, one

from kairos import Kairos, SyncKairos
from kairos.errors import SchemaMismatch
from kairos.fsm import guard
from kairos.fsm.lifecycle import Status, stored_pairs
from kairos.store import migrate, migration_files

EXPIRE_WAITING = """
update kairos.gen_durable set status = 'expired', completed_at = now(), awaits = null where id = %s
"""
# What a worker of version 10 sends: retention that deletes history by itself, and a claim.
OLD_PURGE = """
with old as materialized (
  select g.id from kairos.gen_durable g
  where g.completed_at is not null and g.completed_at <= kairos.now() order by g.completed_at limit 100
  for update skip locked
), history as (
  delete from kairos.history h where h.job_id = any (array(select old.id from old))
), purged as (
  delete from kairos.gen_durable g where g.id = any (array(select old.id from old)) returning g.id
)
select count(*) from purged
"""
OLD_HISTORY = """
insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, at)
values (%s, 'done', 'running', 'success', 's', 0, now())
"""


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lifecycle in which a waiting job may expire."""
    pairs = (*stored_pairs(), (Status.AWAITING_SIGNAL, Status.EXPIRED))
    monkeypatch.setattr(guard, "stored_pairs", lambda: pairs)


def may_expire_while_waiting(url: str) -> bool:
    with psycopg.connect(url) as connection:
        job = living(connection, Status.AWAITING_SIGNAL)
        try:
            connection.execute(EXPIRE_WAITING, [job])
        except psycopg.Error as error:
            assert error.sqlstate == "KA409"
            return False
        finally:
            connection.rollback()
    return True


async def test_a_changed_lifecycle_reaches_a_database_that_has_the_guard_of_version_10(
    bare: str, changed: None
) -> None:
    as_released(bare, 10)
    assert not may_expire_while_waiting(bare)
    numbered = [each.name for each in migration_files.migrations() if each.version > 10]
    assert await Kairos(bare).migrate() == [*numbered, migrate.GUARD, migrate.INTERFACE]
    assert may_expire_while_waiting(bare)


async def test_a_lifecycle_that_changes_without_a_migration_is_applied_and_so_is_its_return(
    kairos_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = Kairos(kairos_database)
    with monkeypatch.context() as change:
        change.setattr(
            guard, "stored_pairs", lambda: (*stored_pairs(), (Status.AWAITING_SIGNAL, Status.EXPIRED))
        )
        with pytest.raises(
            SchemaMismatch, match="The database does not have the lifecycle guard of this Kairos"
        ):
            await app.open()
        assert await app.migrate() == [migrate.GUARD]
        assert may_expire_while_waiting(kairos_database)
        async with Kairos(kairos_database):
            pass
    async with Kairos(kairos_database):
        assert may_expire_while_waiting(kairos_database), "older code starts, and changes nothing by that"
    assert SyncKairos(kairos_database).migrate() == [migrate.GUARD]
    assert not may_expire_while_waiting(kairos_database)


async def test_the_guard_of_newer_code_is_not_replaced_by_an_older_one(
    kairos_database: str, changed: None
) -> None:
    ask(kairos_database, "update kairos.guards set version = 10000")
    assert await Kairos(kairos_database).migrate() == []
    assert not may_expire_while_waiting(kairos_database)


@pytest.mark.parametrize("app", [Kairos, SyncKairos], ids=["async", "sync"])
async def test_a_guard_that_is_as_it_should_be_takes_no_lock(kairos_database: str, app: Any) -> None:
    with psycopg.connect(kairos_database) as other:
        for table in ("gen_durable", "history", "keys"):
            other.execute(f"lock table kairos.{table} in access exclusive mode".encode())
        other.execute(f"select pg_advisory_xact_lock({0x6B6169726F73})".encode())
        for table in ("migrations", "migration_steps", "guards"):
            other.execute(f"lock table kairos.{table} in share mode".encode())
        answer = app(kairos_database).migrate()
        assert (answer if isinstance(answer, list) else await answer) == []


def test_two_processes_migrate_an_old_database_at_once_while_old_workers_run(bare: str) -> None:
    as_released(bare, 10)
    stop, failed, done = threading.Event(), [], []

    def work() -> None:
        """A worker of version 10: jobs begin, run, end and are purged with their history."""
        with psycopg.connect(bare, autocommit=True) as connection:
            while not stop.is_set():
                try:
                    with connection.transaction():
                        job = living(connection, Status.DONE)
                        connection.execute(OLD_HISTORY, [job])
                    connection.execute(OLD_PURGE)
                    done.append(job)
                except psycopg.Error as error:
                    failed.append(error)
                    return

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    program = "from kairos.cli import main; main()"
    command = [sys.executable, "-c", program, "migrate", "--json", "--database-url", bare]
    migrating = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = "".join(process.communicate(timeout=120)[0] for process in migrating)
    before = len(done)
    while len(done) < before + 20 and not failed:
        stop.wait(0.01)
    stop.set()
    for worker in workers:
        worker.join()
    assert (failed, [process.returncode for process in migrating]) == ([], [0, 0])
    assert said.count("0011_protection") == said.count('"guard"') == 1
    assert ask(bare, "select count(*) from kairos.gen_durable") == [(0,)]
    assert ask(bare, "select count(*) from kairos.history") == [(0,)]
    assert ask(bare, "select deadlocks from pg_stat_database where datname = current_database()") == [(0,)]


def test_a_database_of_version_8_is_migrated_under_load_without_a_deadlock(bare: str) -> None:
    """Building and dropping indexes in one transaction deadlocked with transactions that read and then wrote."""
    as_released(bare, 8)
    stop, failed, done = threading.Event(), [], []

    def work() -> None:
        with psycopg.connect(bare) as connection:
            while not stop.is_set():
                try:
                    job = one(connection, BIRTH)
                    connection.execute("select count(*) from kairos.gen_durable where id = %s", [job])
                    connection.commit()
                    connection.execute("select count(*) from kairos.gen_durable where id = %s", [job])
                    connection.execute(
                        "update kairos.gen_durable set updated_at = now(), awaits = null where id = %s", [job]
                    )
                    connection.commit()
                    done.append(job)
                except psycopg.Error as error:
                    failed.append(error)
                    return

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    try:
        while len(done) < 2000 and not failed:
            stop.wait(0.01)
        applied = SyncKairos(bare).migrate()
    finally:
        stop.set()
        for worker in workers:
            worker.join()
    assert failed == []
    assert applied[:2] == ["0009_bounds", "0010_queues"]
    assert ask(bare, "select deadlocks from pg_stat_database where datname = current_database()") == [(0,)]
