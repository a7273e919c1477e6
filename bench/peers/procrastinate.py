"""procrastinate as its users would write it, with the settings found fastest: one async worker, many jobs at once."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time

import uvloop
from procrastinate import App, PsycopgConnector

app = App(connector=PsycopgConnector(conninfo=os.environ["KAIROS_DATABASE_URL"], min_size=4, max_size=20))


@app.task(name="noop")
async def noop(n: int) -> None:
    """Do nothing."""


async def main(command: list[str]) -> None:
    async with app.open_async():
        match command:
            case ["install"]:
                if not await app.check_connection_async():
                    await app.schema_manager.apply_schema_async()
                await app.connector.execute_query_async(
                    "truncate procrastinate_jobs, procrastinate_events, procrastinate_periodic_defers cascade"
                )
            case ["fill", jobs]:
                for _ in range(int(jobs) // 1000):
                    await bulk()
            case ["enqueue", kind, seconds]:
                count, began = 0, time.monotonic()
                while time.monotonic() - began < float(seconds):
                    if kind == "one":
                        await noop.defer_async(n=1)
                        count += 1
                    else:
                        count += await bulk()
                print(json.dumps({"jobs": count, "seconds": time.monotonic() - began}), flush=True)
            case ["work"]:
                await work()


async def bulk() -> int:
    await noop.batch_defer_async(*({"n": 1} for _ in range(1000)))
    return 1000


async def work() -> None:
    loop = asyncio.get_running_loop()
    print("ready", flush=True)
    await loop.run_in_executor(None, sys.stdin.readline)
    running = asyncio.create_task(
        app.run_worker_async(concurrency=50, fetch_job_polling_interval=0.1, install_signal_handlers=False)
    )
    ended = loop.run_in_executor(None, sys.stdin.readline)
    await asyncio.wait([running, ended], return_when="FIRST_COMPLETED")
    running.cancel()
    await asyncio.wait([running], timeout=30)


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1:]))
