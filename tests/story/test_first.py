from datetime import timedelta
from kairos import Backoff, Context, Kairos
from kairos.testing import Clock, drain

async def test_a_job_that_fails_is_tried_again_after_its_backoff(database):
    app = Kairos(database)
    @app.job(retry=Backoff(attempts=2, base=10, jitter=0))
    async def fragile(ctx: Context) -> str:
        if ctx.attempt == 0: raise ValueError("once")
        return "ok"
    async with app:
        clock = await Clock(app).install()
        await clock.freeze()
        job = await fragile.enqueue()
        assert await drain(app) == 1
        assert (await app.get(job.id)).state == "scheduled"
        await clock.move(timedelta(seconds=10, microseconds=-1))
        assert await drain(app) == 0
        await clock.move(timedelta(microseconds=1))
        assert await drain(app) == 1
        assert (await app.get(job.id)).output == "ok"
