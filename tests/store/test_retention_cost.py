"""What leaves with jobs leaves once a statement, however many jobs it deletes; and signals belong to a job."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
from tests.engine_statements import DEADLOCKS
from tests.store.old_databases import REAL, ask, files
from tests.store.test_deadlock import blocked
from tests.store.test_statements import SQL
from tests.worker.world import until

from kairos import Await, Context, Done, Kairos, SyncKairos, step
from kairos.errors import MigrationBlocked
from kairos.store import migrate, migration_files
from kairos.store.query import Query

JOBS = 30
END = """
update kairos.gen_durable set status = 'executing', lease = 1, started_at = now(), locked_by = 'w',
  lease_expires_at = now();
update kairos.gen_durable set status = 'done', completed_at = now() - interval '1 day', locked_by = null,
  lease_expires_at = null;
"""
RECORD = """
insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, at)
select id, 'done', 'running', 'success', 's', 0, now() from kairos.gen_durable;
insert into kairos.logs (job_id, cursor, lease, said, at, level, line, step, attempt)
select id, 1, 1, 1, now(), 'info', 'line', 's', 0 from kairos.gen_durable;
insert into kairos.signals (target_id, name, inserted_at) select id, 'paid', now() from kairos.gen_durable;
"""
LEFT = (
    " union all ".join(
        f"select '{table}', count(*) from kairos.{table}"
        for table in ("gen_durable", "history", "logs", "signals")
    )
    + " order by 1"
)
NOTHING = [("gen_durable", 0), ("history", 0), ("logs", 0), ("signals", 0)]
SIGNAL = "insert into kairos.signals (target_id, name, inserted_at) values ({}, 'paid', now())"
DELETE = "delete from kairos.gen_durable where id = {}"


def enqueue(url: str, jobs: int = 1) -> int:
    """Insert jobs as anybody's SQL does, and return the last id."""
    insert = "insert into kairos.gen_durable (fsm, step, eligible_at, inserted_at, updated_at)"
    rows = ask(
        url, f"{insert} select 'a', 's', now(), now(), now() from generate_series(1, {jobs}) returning id"
    )
    return int(str(rows[-1][0]))


def test_retention_calls_each_trigger_once_for_all_jobs_of_a_batch(database: str) -> None:
    enqueue(database, JOBS)
    ask(database, END + RECORD)
    with psycopg.connect(database, cursor_factory=psycopg.ClientCursor) as connection:
        connection.execute("set track_functions = 'pl'")
        connection.execute(f"prepare purge as {SQL['purge_jobs']}".encode())
        (explained,) = connection.execute(
            "explain (analyze, format json) execute purge (%s, %s, null)", [timedelta(0), JOBS]
        ).fetchone() or ([],)
        triggers = {each["Trigger Name"]: each["Calls"] for each in explained[0]["Triggers"]}
        functions = dict(
            connection.execute("select funcname, calls from pg_stat_xact_user_functions").fetchall()
        )
    assert set(triggers.values()) == {1}, triggers
    assert functions == dict.fromkeys(
        ["count_removed", "delete_history", "delete_logs", "delete_signals", "forget_history"], 1
    )
    assert ask(database, LEFT) == NOTHING


def test_under_an_old_snapshot_a_batch_costs_the_same_if_it_begins_where_the_last_one_ended(
    database: str,
) -> None:
    """The index keeps the entry of each job that was deleted since the snapshot was taken."""
    enqueue(database, 2000)
    ask(database, END.replace("interval '1 day'", "interval '1 day' + id * interval '1 ms'"))
    ask(database, "vacuum (freeze) kairos.gen_durable")
    with psycopg.connect(database) as reader, psycopg.connect(database, autocommit=True) as connection:
        reader.execute("set transaction isolation level repeatable read")
        reader.execute("select count(*) from kairos.gen_durable")
        connection.execute("set enable_seqscan = off; set plan_cache_mode = force_generic_plan")
        connection.execute(f"prepare purge as {SQL['purge_jobs']}".encode())
        begin, read = "null", []
        for _ in range(18):
            last = "select max(completed_at) from (select * from kairos.gen_durable order by completed_at limit 100) o"
            (upto,) = connection.execute(last.encode()).fetchone() or (None,)
            read.append(pages_searched(connection, begin))
            begin = f"'{upto}'"
        assert max(read) <= read[0] + 10, read
        assert pages_searched(connection, "null") > 5 * read[0], read


def pages_searched(connection: psycopg.Connection[Any], begin: str) -> int:
    """Purge a batch of 100, and return how many pages the search for them met."""
    (explained,) = connection.execute(
        f"explain (analyze, buffers, format json) execute purge ('0 s', 100, {begin})".encode()
    ).fetchone() or ([],)
    nodes = [explained[0]["Plan"]]
    for node in nodes:
        nodes.extend(node.get("Plans", ()))
        if node.get("Index Name") == "gen_durable_completed":
            return int(node["Shared Hit Blocks"] + node["Shared Read Blocks"])
    raise AssertionError(explained)


async def test_a_signal_waits_for_the_deletion_of_its_job_and_is_refused(database: str) -> None:
    job = enqueue(database)
    ask(database, END)
    remover, sender = await asyncpg.connect(database), await asyncpg.connect(database)
    async with remover.transaction():
        await remover.execute(DELETE.format(job))
        sending = asyncio.create_task(sender.execute(SIGNAL.format(job)))
        await blocked(database)
    with pytest.raises(asyncpg.ForeignKeyViolationError, match=f"job {job} does not exist"):
        await sending
    await remover.close()
    await sender.close()


async def test_a_deletion_waits_for_a_signal_that_is_being_stored_and_takes_it_along(database: str) -> None:
    job = enqueue(database)
    ask(database, END)
    remover, sender = await asyncpg.connect(database), await asyncpg.connect(database)
    async with sender.transaction():
        await sender.execute(SIGNAL.format(job))
        removing = asyncio.create_task(remover.execute(DELETE.format(job)))
        await blocked(database)
    await removing
    await remover.close()
    await sender.close()
    assert ask(database, LEFT) == NOTHING


def test_a_signal_cannot_be_moved_to_a_job_that_does_not_exist(database: str) -> None:
    job = enqueue(database)
    ask(database, SIGNAL.format(job))
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        ask(database, f"update kairos.signals set target_id = {job + 1}")


def test_history_is_refused_to_go_before_its_job_also_in_a_function(database: str) -> None:
    enqueue(database)
    ask(database, END + RECORD)
    with pytest.raises(psycopg.Error, match="its rows leave with their job"):
        ask(database, "do $$ begin delete from kairos.history; end $$")


def test_a_database_of_the_version_before_is_migrated_and_its_jobs_leave_whole(
    bare: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who reads signals holds the last table lock up: the migration stops there and is resumed."""
    with monkeypatch.context() as before:
        before.setattr(migration_files, "FOLDER", files(tmp_path / "before", upto=65))
        SyncKairos(bare).migrate()
    enqueue(bare, JOBS)
    ask(bare, END + RECORD)
    monkeypatch.setattr(migrate, "PAUSES", (0.01,))
    with psycopg.connect(bare, application_name="report") as reader:
        reader.execute("select count(*) from kairos.signals")
        with pytest.raises(MigrationBlocked, match="report"):
            SyncKairos(bare).migrate()
        # Nobody else is held up meanwhile.
        ask(bare, SIGNAL.format("(select max(id) from kairos.gen_durable)"))
        ask(bare, f"delete from kairos.gen_durable where id = {first(bare)}")
    assert ask(bare, "select count(*) from kairos.signals") == [(JOBS,)]
    SyncKairos(bare).migrate()
    ask(bare, "delete from kairos.gen_durable")
    assert ask(bare, LEFT) == NOTHING


async def test_workers_of_the_version_before_notice_nothing_of_the_migration(
    bare: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs wait for a signal, end and are deleted all the while; no statement is a deadlock's victim."""
    monkeypatch.setattr(migration_files, "FOLDER", files(tmp_path / "before", upto=65))
    SyncKairos(bare).migrate()
    app, ended, stop = Kairos(bare), 0, asyncio.Event()

    @app.machine("order")
    class Order:
        @step
        async def pay(self, ctx: Context) -> Any:
            return Await("paid") if ctx.take("paid") is None else Done()

    async def load() -> None:
        nonlocal ended
        while not stop.is_set():
            jobs = await app.enqueue_many([app.action("order").call() for _ in range(5)])
            for job in jobs:
                await app.signal(job.id, "paid", {})
            for job in jobs:
                await app.result(job.id, timeout=60)
            ended += len(jobs)
            await app.store.run(Query("delete_jobs", ([job.id for job in jobs],)))

    async def more(jobs: int) -> None:
        wanted = ended + jobs
        await until(lambda: ended >= wanted, "more load")

    async with app, app.worker(poll=0.1):
        loads = [asyncio.create_task(load()) for _ in range(3)]
        await more(30)
        monkeypatch.setattr(migration_files, "FOLDER", REAL)
        assert (await asyncio.to_thread(SyncKairos(bare).migrate))[0] == "0066_cheaper_retention"
        await more(30)
        stop.set()
        await asyncio.gather(*loads)
    assert ask(bare, LEFT) == NOTHING
    assert ask(bare, DEADLOCKS) == [(0,)]


def first(url: str) -> Any:
    return ask(url, "select min(id) from kairos.gen_durable")[0][0]
