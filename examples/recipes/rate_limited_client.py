"""A rate-limited API client: the limit holds over all workers, and "429 Retry-After" is obeyed.

$ kairos dev examples/recipes/rate_limited_client.py
$ kairos queues limit vendor-api --concurrency 4 --rate 100/1s
$ kairos enqueue examples/recipes/rate_limited_client.py sync_customer customer=7
"""

import asyncio

from kairos import Backoff, Context, Kairos, Replay, Stop

app = Kairos()


class TooManyRequests(Exception):
    """The vendor's 429, with the seconds of its Retry-After."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"asked to wait {retry_after} s")
        self.retry_after = retry_after


def wait_as_told(error: Exception, ctx: Context) -> Replay | Stop:
    """A retry policy is a function: wait as long as the vendor says, back off from everything else."""
    if isinstance(error, TooManyRequests):
        return Replay(delay=error.retry_after)
    return Backoff(attempts=5, base="1s", cap="5m")(error, ctx)


@app.job(queue="vendor-api", retry=wait_as_told, timeout="30s")
async def sync_customer(ctx: Context, customer: int) -> str:
    """Call the vendor. One customer is synchronised one at a time: the caller gives the key."""
    if customer == 3 and ctx.attempt == 0:
        raise TooManyRequests(retry_after=0.2)  # what a real client reads from the response
    return f"customer {customer}, attempt {ctx.attempt}"


async def main() -> None:
    async with app, app.worker():
        # Set it once, here or from the shell: it is kept in the database, and holds for all workers together.
        await app.limit("vendor-api", concurrency=4, rate=(100, "1s"))
        jobs = await app.enqueue_many(
            sync_customer.options(key=f"customer:{n}").call(customer=n) for n in range(1, 5)
        )
        for job in jobs:
            print("synced ->", await app.result(job.id, timeout="30s"))


if __name__ == "__main__":
    asyncio.run(main())
