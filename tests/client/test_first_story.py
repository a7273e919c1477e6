"""A first story: a job that fails once, told with the tools that users have."""

from datetime import timedelta

import pytest

from kairos import Backoff, Context, Kairos
from kairos.testing import Clock, assert_enqueued, assert_state, drain


@pytest.fixture
def app(database):
    app = Kairos(database)

    @app.job(retry=Backoff(attempts=2, base=10, jitter=0))
    async def fragile(ctx: Context, name: str) -> str:
        if ctx.attempt == 0:
            raise ValueError("once")
        return name

    return app


async def test_a_job_that_fails_is_tried_again_after_its_backoff(app):
    async with app:
        clock = await Clock(app).install()
        await clock.freeze()
        job = await app.action("fragile").enqueue(name="Ada")
        assert await drain(app) == 1
        await assert_state(app, job.id, "scheduled")
        await clock.move(timedelta(seconds=10, microseconds=-1))
        assert await drain(app) == 0
        await clock.move(timedelta(microseconds=1))
        assert await drain(app) == 1
        assert (await assert_state(app, job.id, "success")).output == "Ada"


async def test_an_assertion_that_does_not_hold_says_what_is_there(app):
    async with app:
        await app.action("fragile").enqueue(name="Ada")
        (job,) = await assert_enqueued(app, "fragile", times=1, name="Ada")
        with pytest.raises(AssertionError, match="0 jobs of 'fragile'"):
            await assert_enqueued(app, "fragile", name="Bob")
        with pytest.raises(AssertionError, match=f"job {job.id} is pending"):
            await assert_state(app, job.id, "success")


async def test_an_app_is_opened_by_its_first_verb(app):
    job = await app.action("fragile").enqueue(name="Ada")
    assert (await app.get(job.id)).input == {"name": "Ada"}
    await app.close()


async def test_a_time_in_words_is_read_by_the_clock_of_the_database(app):
    async with app:
        clock = await Clock(app).install()
        await clock.move("10d")
        job = await app.action("fragile").options(when="in 1 hour").enqueue(name="Ada")
        assert timedelta(minutes=59) < job.run_at - await clock.now() < timedelta(minutes=61)
