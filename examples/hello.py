"""Three small jobs: one greets, one fails and is tried again, one takes its time.

$ kairos dev examples/hello.py
$ kairos enqueue examples/hello.py greet name=world
"""

import asyncio
import time

from kairos import Backoff, Context, Kairos

app = Kairos()


@app.job
async def greet(name: str) -> str:
    return f"Hello, {name}!"


@app.job(retry=Backoff(attempts=5, base="200ms"))
async def fetch(ctx: Context, failures: int = 2) -> str:
    if ctx.attempt < failures:
        raise ConnectionError(f"attempt {ctx.attempt} found nobody there")
    return f"fetched at attempt {ctx.attempt}"


@app.job(queue="reports", timeout="1m")
def report(ctx: Context, pages: int = 20) -> dict[str, int]:
    for page in range(pages):  # a plain function runs in a thread
        ctx.checkpoint()
        ctx.progress(page, pages)
        if page % 20 == 0:
            ctx.log.info("writing", page=page)
        time.sleep(0.05)
    return {"pages": pages}


async def main() -> None:
    async with app, app.worker():
        jobs = await app.enqueue_many([greet.call(name="world"), fetch.call(), report.call(pages=5)])
        for job in jobs:
            print(job.action, "->", await app.result(job.id, timeout="30s"))


if __name__ == "__main__":
    asyncio.run(main())
