"""A crontab moved: each line became a schedule of a function, with a history, retries, overlap and alarms.

The crontab it replaces:

    CRON_TZ=Europe/Oslo
    */15 * * * *   /srv/shop/sync_stock.sh          # two at once corrupted the stock: flock was forgotten
    30 2 * * 1-5   /srv/shop/backup.sh && /srv/shop/prune.sh
    0 9 1 * *      /srv/shop/invoices.sh | mail -s invoices billing

$ kairos worker examples/recipes/crontab_moved.py
$ kairos schedules ls

Commands that should stay commands need no code: `kairos import-crontab` moves them as they are.
"""

import asyncio

from kairos import Backoff, Context, Done, Kairos, Next, step

app = Kairos()


@app.schedule("*/15 * * * *", tz="Europe/Oslo", overlap="skip", catch_up="none")
@app.job(queue="shop", timeout="10m")
async def sync_stock() -> str:
    return "stock synchronised"


@app.schedule("every weekday at 02:30 in Oslo", name="backup", catch_up="last")
@app.machine("backup", queue="shop", retry=Backoff(attempts=3, base="5m"))
class Backup:
    """`a && b` is two steps: when pruning fails, the backup is not made again."""

    @step(initial=True, to=["prune"])
    async def dump(self, ctx: Context[dict[str, str]]) -> Next:
        return Next("prune", {"file": f"backup-{ctx.id}"})

    @step(to=[])
    async def prune(self, ctx: Context[dict[str, str]]) -> Done:
        ctx.log.info("pruned behind", file=ctx.state["file"])
        return Done(ctx.state["file"])


@app.schedule("on the 1st of each month at 09:00 in Oslo", catch_up="last", catch_up_within="5d", jitter="2m")
@app.job(queue="shop", capture=True)
def invoices() -> str:
    print("12 invoices written")  # capture=True keeps what it prints in the job's log; a failure is an alarm
    return "invoices written"


async def main() -> None:
    async with app, app.worker():
        for name in ("backup", "invoices", "sync_stock"):
            schedule = await app.schedules.get(name)
            job = await app.schedules.trigger(name)  # now, outside its ticks
            print(name, "->", schedule.sentence, "->", await app.result(job, timeout="30s"))


if __name__ == "__main__":
    asyncio.run(main())
