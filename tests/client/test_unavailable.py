"""A database that is gone, closed, or only to be read: told in words, without the password."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import psycopg
import pytest

from kairos import Kairos, SyncKairos
from kairos.errors import DatabaseUnavailable, KairosError

GONE = [
    "postgresql://me:hunter2@127.0.0.1:1/nowhere",
    "postgresql://me:hunter2@/nowhere?host=/nonexistent",
]


@pytest.mark.parametrize("url", GONE)
async def test_a_database_that_is_not_there_is_told_at_the_start(url: str) -> None:
    for ask in (Kairos(url).open, Kairos(url).migrate, SyncKairos(url).open, SyncKairos(url).migrate):
        with pytest.raises(DatabaseUnavailable, match="cannot be reached") as refused:
            await answer if (answer := ask()) is not None else None
        assert "hunter2" not in str(refused.value)
        assert (refused.value.http_status, refused.value.exit_code) == (503, 69)


async def test_a_database_of_another_name_is_not_ours(database: str) -> None:
    url = database.replace("/kept_", "/never_")
    for ask in (Kairos(url).open, SyncKairos(url).open):
        with pytest.raises(DatabaseUnavailable, match="does not exist"):
            await answer if (answer := ask()) is not None else None


@pytest.mark.parametrize("url", ["nonsense", "mysql://localhost/x", "postgresql://[::1"])
async def test_a_url_that_is_none_is_refused(url: str) -> None:
    for app in (Kairos, SyncKairos):
        with pytest.raises(KairosError):
            await answer if (answer := app(url).open()) is not None else None


async def test_a_database_that_is_read_only_says_so_and_stores_nothing(app: Kairos, database: str) -> None:
    async with app.store.connection() as connection:
        name = await connection.fetchval("select current_database()")
        await connection.execute(f"alter database {name} set default_transaction_read_only = on")
    try:
        with pytest.raises(DatabaseUnavailable, match="read-only"):
            await Kairos(database).enqueue(app.action("echo").call())
        with pytest.raises(DatabaseUnavailable, match="read-only"):
            SyncKairos(database).enqueue(app.action("echo").call())
    finally:
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("set default_transaction_read_only = off")
            connection.execute(f"alter database {name} reset default_transaction_read_only")
    assert await app.jobs() == []


async def test_cut_connections_are_replaced(app: Kairos, database: str) -> None:
    async def jobs() -> Any:
        return await app.jobs()

    await asyncio.gather(*(jobs() for _ in range(5)))
    other = await asyncpg.connect(database)
    await other.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where datname = current_database() and pid <> pg_backend_pid()"
    )
    await other.close()
    answers = [await asyncio.gather(jobs(), return_exceptions=True) for _ in range(10)]
    assert answers[-1] == [[]]
    told = [answer for (answer,) in answers if answer != []]
    assert all(isinstance(answer, DatabaseUnavailable) for answer in told)


def test_an_app_that_nobody_closed_is_opened_anew_in_the_next_event_loop(database: str) -> None:
    app = Kairos(database)

    @app.job
    async def greet(name: str) -> None: ...

    # As with a verb in each request of a framework that makes an event loop for each.
    ids = [asyncio.run(greet.enqueue(name)).id for name in ("Ann", "Bo", "Cy")]
    assert len(set(ids)) == 3
    asyncio.run(app.close())

    async def again() -> str:
        async with app:
            return (await app.get(ids[0])).state

    assert asyncio.run(again()) == "pending"
