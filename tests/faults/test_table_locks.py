"""A session of somebody else that locks a whole table: what does not need the table goes on, and the log names it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest
from tests.captured_logs import capture_logs
from tests.worker.world import ended, fetch, reaches, until, working

from kairos import Kairos
from kairos.worker.blocking_sessions import describe

WAITS = "a lock of another session keeps this worker waiting"


@pytest.fixture
def app(database: str) -> Kairos:
    return Kairos(database)


@asynccontextmanager
async def holding(database: str, statement: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database, server_settings={"application_name": "a client"})
    try:
        async with connection.transaction():
            await connection.execute(statement)
            yield connection
    finally:
        await connection.close()


def names(log: list[dict[str, Any]], client: asyncpg.Connection, table: str) -> bool:
    """Whether a line says that this session locks the table."""
    session = f"pid {client.get_server_pid()} (a client, idle in transaction since "
    return any(
        line["event"] == WAITS and line["locked"] == table and line["session"].startswith(session)
        for line in log
    )


@pytest.mark.parametrize("mode", ["share", "exclusive"])
async def test_a_lock_on_the_table_of_queues_stops_no_queue_without_a_rate(app, database, mode):
    """A concurrency limit only locks the row of its queue, which a lock in share mode allows."""

    @app.job(queue="limited")
    async def limited() -> None: ...

    @app.job(queue="rated")
    async def rated() -> None: ...

    @app.job(queue="plain")
    async def plain() -> None: ...

    with capture_logs() as log:
        async with working(app, queues=["limited", "rated", "plain"]):
            await app.limit("limited", concurrency=1)
            await app.limit("rated", rate=(100, 1))
            for job in (limited, rated, plain):
                assert (await ended(app, (await job.enqueue()).id)).state == "success"
            async with holding(database, f"lock table kairos.queues in {mode} mode") as client:
                waiting = await rated.enqueue()
                for _ in range(3):
                    await ended(app, (await plain.enqueue()).id)
                    if mode == "share":
                        await ended(app, (await limited.enqueue()).id)
                assert (await app.get(waiting.id)).state == "pending"
                await until(lambda: names(log, client, "kairos.queues"), "the blocker")
            await ended(app, waiting.id)


async def test_the_log_names_who_locks_a_table_that_every_pick_reads(app, database):
    @app.job
    async def work() -> None: ...

    with capture_logs() as log:
        async with working(app):
            async with holding(database, "lock table kairos.queues in access exclusive mode") as client:
                job = await work.enqueue()
                await until(lambda: names(log, client, "kairos.queues"), "the blocker")
            await ended(app, job.id)


async def test_a_locked_job_of_one_schedule_stops_neither_other_schedules_nor_the_reaping(app, database):
    """A schedule that cancels its last job waits for the row of that job."""
    go = asyncio.Event()

    @app.job(queue="own")
    async def long() -> None:
        await go.wait()

    @app.job(queue="other")
    async def short() -> None: ...

    async with working(app, queues=["own", "other"]):
        await app.schedules.add("cancels", "every second", long.call(), overlap="cancel")
        running = "select id from kairos.gen_durable where schedule = 'cancels' and status = 'executing'"
        found = await until(lambda: fetch(app, running), "a job of the schedule")
        async with holding(
            database, f"select from kairos.gen_durable where id = {found[0]['id']} for update"
        ):
            await app.schedules.add("goes on", "every second", short.call())
            fired = "select id from kairos.gen_durable where schedule = 'goes on' and status = 'done'"

            async def thrice() -> bool:
                return len(await fetch(app, fired)) >= 3

            await until(thrice, "ticks of the other schedule")
        await reaches(app, found[0]["id"], "cancelled")
        go.set()


def test_a_session_whose_state_postgres_hides_is_described_by_what_is_known():
    """It is hidden from a role that may not read all statistics."""
    known = {"pid": 7, "application_name": "psql", "usename": "eve", "state": "idle in transaction"}
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert describe([{**known, "state_change": at}]) == (
        "pid 7 (psql, idle in transaction since 2026-01-02 03:04:05Z)"
    )
    assert describe([{**known, "state": "?", "state_change": None}]) == "pid 7 (psql, ?)"
