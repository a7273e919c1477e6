"""A migration under load, killed between its steps and in the middle of a build: workers go on, and it is resumed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from tests.engine_statements import DEADLOCKS
from tests.store.old_databases import ask, files
from tests.worker.world import ended, until

LOCK = 1414
# The load goes on as fast as the workers: a backlog that grows would take longer to finish than the test waits.
BACKLOG = 200
# Takes every kind of lock that a migration may take on a table that workers use, each in a step of its own. The second
# step waits for a lock of the test, so that it can be killed there.
LATER = f"""\
-- step: add a column
alter table kairos.gen_durable add column later int;

-- step: wait
do $$ begin perform pg_advisory_xact_lock({LOCK}); end $$;

-- step: count changes
create function kairos.later() returns trigger language plpgsql as $$ begin return null; end $$;
create trigger gen_durable_later after insert on kairos.gen_durable
  for each statement execute function kairos.later();

-- step: build (outside a transaction)
create index concurrently gen_durable_later on kairos.gen_durable (later) where later is not null;

-- step: drop (outside a transaction)
drop index concurrently if exists kairos.gen_durable_queue_waiting;
"""
PROGRAM = """
import sys
from pathlib import Path
from kairos.store import migration_files
from kairos import SyncKairos
migration_files.FOLDER = Path(sys.argv[1])
print(SyncKairos(sys.argv[2]).migrate())
"""
STEPS = "select coalesce(max(step), 0) from kairos.migration_steps where version = 9999"
BUILT = "select indisvalid from pg_index where indexrelid = to_regclass('kairos.gen_durable_later')"
BUILDING = """
select count(*) from pg_stat_progress_create_index where datname = current_database() and phase like 'waiting%'
"""
BACKENDS = """
select count(*) from pg_stat_activity where datname = current_database() and query ilike '%concurrently%'
  and pid <> pg_backend_pid()
"""


async def test_a_migration_that_is_killed_twice_under_load_is_resumed_and_no_worker_notices(
    crew, app, database: str, tmp_path: Path
):
    folder = files(tmp_path / "migrations", m9999_later=LATER)
    await crew.ready(concurrency=10)
    accepted: list[int] = []
    stop = asyncio.Event()

    async def load() -> None:
        while not stop.is_set():
            jobs = await app.enqueue_many([app.action("sleep").call(seconds=0) for _ in range(20)])
            accepted.extend(job.id for job in jobs)
            if len(accepted) > BACKLOG:
                await ended(app, accepted[-BACKLOG])

    loading = asyncio.create_task(load())
    await until(lambda: len(accepted) > 200, "some load")
    with held(database, f"select pg_advisory_xact_lock({LOCK})"):
        migrating = start(folder, database)
        await until(lambda: ask(database, STEPS) == [(1,)], "the first step")
        kill(migrating)
    assert ask(database, "select max(version) < 9999 from kairos.migrations") == [(True,)]
    await crew.ready(concurrency=10)  # code of the version before starts in the middle of it

    with held(database, "set transaction isolation level repeatable read", "select 1"):
        migrating = start(folder, database)
        await until(lambda: ask(database, BUILDING) == [(1,)], "the build")
        kill(migrating)
        await until(lambda: ask(database, BACKENDS) == [(0,)], "the end of the backend that was building")
    assert ask(database, BUILT) == [(False,)]
    before = len(accepted)
    await until(lambda: len(accepted) > before + 100, "more load")

    migrating = start(folder, database)
    said, _ = await asyncio.to_thread(migrating.communicate, timeout=120)
    assert (migrating.returncode, said) == (0, "['9999_later']\n")
    assert ask(database, BUILT) == [(True,)]
    assert ask(database, "select to_regclass('kairos.gen_durable_queue_waiting')") == [(None,)]
    stop.set()
    await loading
    last = max(accepted)
    await ended(app, last)
    await until(lambda: ask(database, UNFINISHED) == [(0,)], "the end of every job")
    assert ask(database, "select count(*) from kairos.gen_durable where status = 'done'") == [
        (len(accepted),)
    ]
    assert ask(database, DEADLOCKS) == [(0,)]


UNFINISHED = "select count(*) from kairos.gen_durable where completed_at is null"


def start(folder: Path, database: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), database], stdout=subprocess.PIPE, text=True
    )


def kill(migrating: subprocess.Popen[str]) -> None:
    migrating.kill()
    migrating.communicate()


@contextmanager
def held(database: str, *statements: str) -> Iterator[None]:
    """A transaction that has run these statements and stays open."""
    with psycopg.connect(database) as connection:
        for sql in statements:
            connection.execute(sql.encode())
        yield
        connection.rollback()
