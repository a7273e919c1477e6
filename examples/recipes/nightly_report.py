"""A nightly report with catch-up: after two days of downtime, both missed nights get their report.

$ kairos dev examples/recipes/nightly_report.py
$ kairos schedules show nightly_report
"""

import asyncio
from datetime import UTC, datetime, timedelta

from kairos import Backoff, Context, Kairos

app = Kairos()


@app.schedule(
    "every day at 3am in London",
    catch_up="all",  # each missed night has a job of its own, and not only the last
    catch_up_within="7d",  # older ones are skipped, and the skip is recorded and raises an alarm
    overlap="queue",  # one report at a time; a night that finds one running waits for it
)
@app.job(queue="reports", retry=Backoff(attempts=5, base="1m"), timeout="1h")
async def nightly_report(ctx: Context) -> str:
    """Write the report of the night it is for, which is not always the night in which it runs."""
    job = await app.get(ctx.id)
    assert job.run_at is not None
    night = job.run_at.date() - timedelta(days=1)
    ctx.log.info("writing", night=str(night))
    return f"report of {night}"


async def main() -> None:
    async with app, app.worker():  # the worker's start saves the schedule
        schedule = await app.schedules.get("nightly_report")
        print("schedule ->", schedule.sentence)
        # What catch-up does by itself after downtime can also be asked for.
        now = datetime.now(UTC)
        jobs = await app.schedules.backfill("nightly_report", now - timedelta(days=3), now)
        reports = [await app.result(job, timeout="30s") for job in jobs]
        print("backfill ->", len(set(reports)), "nights")


if __name__ == "__main__":
    asyncio.run(main())
