"""Tests on a real Postgres, without a worker and without sleeping.

$ pip install pytest pytest-asyncio 'kairos-scheduler[embedded]'
$ pytest examples/frameworks/pytest_project
"""

from collections.abc import AsyncIterator

import pytest
from shop_jobs import make_app

from kairos import Kairos
from kairos.testing import Clock, assert_enqueued, assert_state, drain


@pytest.fixture
async def app(kairos_database: str) -> AsyncIterator[Kairos]:
    async with make_app(kairos_database) as app:
        yield app


async def test_a_reminder_is_tried_again_ten_seconds_later(app: Kairos) -> None:
    clock = await Clock(app).install()
    await clock.freeze()
    job = await app.action("remind").enqueue(user_id=7)
    await drain(app)
    await assert_state(app, job.id, "scheduled")
    await clock.move("10s")
    await drain(app)
    assert (await assert_state(app, job.id, "success")).output == "reminded 7"


async def test_a_parcel_is_lost_after_a_week(app: Kairos) -> None:
    clock = await Clock(app).install()
    job = await app.action("parcel").enqueue()
    await drain(app)
    await clock.move("7d")
    await drain(app)
    assert (await app.get(job.id)).output == "lost"


async def test_code_under_test_enqueued_what_it_should(app: Kairos) -> None:
    await app.action("remind").options(delay="1d").enqueue(user_id=8)
    await assert_enqueued(app, "remind", user_id=8, times=1)
