"""After a failover that lost jobs, no id of a lost job is given to another one."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.data_directories import temporary_directory
from tests.worker.world import fetch

from kairos import Kairos, SyncKairos
from kairos.alarms.thresholds import Thresholds
from kairos.embedded import Server
from kairos.testing.plugin import SETTINGS
from kairos.worker.alarm_loop import run_checks

MARGIN = 10_000_000


@pytest.fixture
def primary_and_lagging() -> Iterator[tuple[Server, Server]]:
    """Two servers with the same jobs, of which the second knows nothing of what the first accepts from now on."""
    folder = temporary_directory("kairos-failover-")
    first, second = Server(folder / "first", settings=SETTINGS), Server(folder / "second", settings=SETTINGS)
    try:
        with first:
            app = SyncKairos(first.url())
            app.migrate()
            declare(app)
            with app:
                app.enqueue_many(app.action("act").call() for _ in range(3))
        shutil.copytree(first.data / "postgres", second.data / "postgres", symlinks=True)
        with first:
            # As a standby that is promoted: it replays what it has, and begins a timeline of its own.
            promote(second.data / "postgres")
            with second:
                yield first, second
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def promote(data: Path) -> None:
    (data / "recovery.signal").touch()
    with (data / "postgresql.auto.conf").open("a") as settings:
        settings.write("\nrestore_command = 'false'\n")


def declare(app: Any) -> None:
    app.job(name="act")(lambda: None)


async def test_no_id_of_a_lost_job_is_given_to_another_job(primary_and_lagging):
    first, second = primary_and_lagging
    old, new = Kairos(first.url()), Kairos(second.url())
    declare(old)
    declare(new)
    async with old, new:
        lost = {job.id for job in await old.enqueue_many(old.action("act").call() for _ in range(100))}
        assert min(lost) == 4
        several = await asyncio.gather(*(new.action("act").enqueue() for _ in range(8)))
        more = await new.enqueue_many(new.action("act").call() for _ in range(100))
        schedule = await new.schedules.add("nightly", "every day at 1am", new.action("act").call())
        tick = await new.schedules.trigger(schedule.name)
        retried = await new.retry((await new.cancel(several[0].id)).id)
        found = [tick, *(job.id for job in (*several, *more, retried))]
        assert min(found) > 3 + MARGIN
        assert max(found) < 3 + 2 * MARGIN  # once, however many came first at the same time
        assert len(set(found)) == len(found)
        assert await fetch(new, "select count(*) from pg_locks where locktype = 'advisory'") == [(0,)]
        await run_checks(new.store, Thresholds(), report=False)
        (alarm,) = [each for each in await new.alarms() if each.kind == "failed_over"]
        assert alarm.cause.startswith("Postgres came from timeline 1 to timeline 2: jobs that were accepted")


def test_a_role_without_other_privileges_moves_the_ids_too(server_url, kairos_database):
    with psycopg.connect(kairos_database, autocommit=True) as owner:
        owner.execute("drop role if exists plain_runtime")
        owner.execute("create role plain_runtime login")
        SyncKairos(kairos_database, runtime_role="plain_runtime").migrate()
        owner.execute("select setval('kairos.timeline', 77)")
        try:
            owner.execute("set role plain_runtime")
            (first,) = owner.execute("select nextval((select kairos.job_ids()))").fetchone()
            (second,) = owner.execute("select nextval((select kairos.job_ids()))").fetchone()
        finally:
            owner.execute("reset role")
            owner.execute("drop owned by plain_runtime")
            owner.execute("drop role plain_runtime")
    assert (first, second) == (MARGIN + 1, MARGIN + 2)
