"""Batches of any size go in by one statement: there is no ceiling of bind parameters to meet."""

from __future__ import annotations

import pytest
from tests.client.actions import register

from kairos import Kairos
from kairos.operations import insert
from kairos.testing import drain


@pytest.mark.parametrize("count", [0, 1, 5461, 5462])
async def test_a_batch_of_any_size_is_accepted_whole(app: Kairos, count: int) -> None:
    echo = app.action("echo").options(delay=3600)
    jobs = await app.enqueue_many(echo.call(number) for number in range(count))
    assert [job.input["value"] for job in jobs] == list(range(count))
    assert len({job.id for job in jobs}) == count
    assert sum(queue.scheduled for queue in await app.queues()) == count


async def test_a_batch_may_have_more_rows_than_postgres_has_parameters(kairos_database: str) -> None:
    async with Kairos(kairos_database) as app:
        register(app)
        call = app.action("echo").call(1)
        (answer,) = await app.store.run(insert([call] * 65_535))
        jobs = await app.enqueue_many([call] * 65_536)
    assert len({*answer["ids"]} | {job.id for job in jobs}) == 65_535 + 65_536


async def test_a_batch_from_a_generator_that_breaks_stores_nothing(app: Kairos) -> None:
    def calls() -> object:
        yield app.action("echo").call(1)
        yield app.action("send").call("not a number")

    with pytest.raises(Exception, match="user"):
        await app.enqueue_many(calls())
    assert await app.jobs() == []


async def test_a_batch_runs_to_its_end(app: Kairos) -> None:
    jobs = await app.enqueue_many(app.action("echo").call(number) for number in range(300))
    assert await drain(app) == 300
    assert [await app.result(job.id) for job in jobs[::50]] == list(range(0, 300, 50))
