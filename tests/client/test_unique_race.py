"""Many who enqueue one key at the same time, some of whom take it back."""

from __future__ import annotations

import asyncio
import random

import asyncpg
import pytest
from tests.client.actions import register

from kairos import Kairos

RACERS = 16


@pytest.mark.parametrize("seed", range(4))
async def test_of_sixteen_at_once_one_makes_the_job_and_everyone_is_told_its_id(
    app: Kairos, seed: int
) -> None:
    """The first few to make it take it back and try again; no id given out by a commit may be of nothing."""
    dice = random.Random(seed)
    call = app.action("echo").options(unique="one", if_taken="return").call()
    taken_back = dice.randrange(1, 8)
    rollbacks = 0

    async def race(connection: asyncpg.Connection) -> int:
        nonlocal rollbacks
        while True:
            await asyncio.sleep(dice.random() * 0.01)
            transaction = connection.transaction()
            await transaction.start()
            job = await app.on(connection).enqueue(call)
            await asyncio.sleep(dice.random() * 0.01)
            if job.is_new and rollbacks < taken_back:
                rollbacks += 1
                await transaction.rollback()
            else:
                await transaction.commit()
                return job.id

    connections = [await asyncpg.connect(app.settings.database_url) for _ in range(RACERS)]
    ids = await asyncio.gather(*(race(each) for each in connections))
    for connection in connections:
        await connection.close()
    (job,) = await app.jobs()
    assert set(ids) == {job.id}
    assert rollbacks == taken_back


async def test_batches_that_share_keys_in_opposite_orders_all_get_the_same_jobs(app: Kairos) -> None:
    echo = app.action("echo")

    async def batch(turn: int) -> list[int]:
        names = [f"key {number}" for number in range(100)]
        names = names if turn % 2 else names[::-1]
        return sorted(job.id for job in await app.enqueue_many(echo.options(unique=n).call() for n in names))

    answers = await asyncio.gather(*(batch(turn) for turn in range(10)))
    assert all(answer == answers[0] for answer in answers)
    assert len(set(answers[0])) == len(await app.jobs(limit=1000)) == 100


async def test_a_batch_takes_its_keys_in_one_order_whatever_its_own_is(kairos_database: str) -> None:
    """Two batches that wait for each other's keys would deadlock: where the rows lie tells how they went in."""
    async with Kairos(kairos_database) as app:
        register(app)
        names = ["m", "z", "a", None, "q", "b"]
        await app.enqueue_many(app.action("echo").options(unique=name).call() for name in names)
        async with app.store.connection() as connection:
            rows = await connection.fetch(
                "select convert_from(unique_key, 'UTF8') as name from kairos.gen_durable "
                "where unique_key is not null order by ctid"
            )
    assert [row["name"] for row in rows] == ["a", "b", "m", "q", "z"]
