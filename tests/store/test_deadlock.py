"""A statement that Postgres picks as a deadlock's victim is sent again: never lost, and never called an outage."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import psycopg
import pytest
from tests.engine_statements import call

from kairos import Kairos, SyncKairos
from kairos.operations import enqueue_many, insert
from kairos.store.query import statements

BLOCKED = (
    "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
)


def batch(*names: str) -> list[Any]:
    return [call(unique=name) for name in names]


async def blocked(url: str) -> None:
    """Wait until somebody waits for a lock."""
    watcher = await asyncpg.connect(url)
    async with asyncio.timeout(60):
        while not await watcher.fetchval(BLOCKED):
            await asyncio.sleep(0.005)
    await watcher.close()


@pytest.mark.parametrize("kind", [Kairos, SyncKairos])
async def test_the_victim_of_a_deadlock_tries_again(database: str, kind: Any) -> None:
    """The app takes `a` and waits for `b`; the other one has `b` and then wants `a`."""
    app = kind(database)

    def ask() -> Any:
        with app:
            return app.run(enqueue_many(batch("a", "b")))

    async def ask_async() -> Any:
        async with app:
            return await app.run(enqueue_many(batch("a", "b")))

    other = await asyncpg.connect(database, server_settings={"deadlock_timeout": "1min"})
    async with other.transaction():
        sql = statements("kairos")["insert_jobs"]
        await other.fetch(sql, *insert(batch("b")).params)
        victim = asyncio.create_task(ask_async() if kind is Kairos else asyncio.to_thread(ask))
        await blocked(database)
        await other.fetch(sql, *insert(batch("a")).params)
    jobs = await asyncio.wait_for(victim, 60)
    assert [job.is_new for job in jobs] == [False, False]
    await other.close()
    with psycopg.connect(database) as connection:
        assert connection.execute("select count(*) from kairos.gen_durable").fetchone() == (2,)
