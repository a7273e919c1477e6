"""chancy as its users would write it, with the settings found fastest: the asyncio executor, many jobs at once, polling
again as soon as one ends.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
import time

from chancy import Chancy, Queue, Worker, job

QUEUE = "bench"


@job(queue=QUEUE)
async def noop(n: int = 0) -> None:
    """Do nothing."""


async def main(command: list[str]) -> None:
    logging.getLogger("chancy").setLevel(logging.ERROR)
    async with Chancy(os.environ["KAIROS_DATABASE_URL"], log=logging.getLogger("bench")) as chancy:
        match command:
            case ["install"]:
                await chancy.migrate()
                await chancy.declare(
                    Queue(
                        QUEUE,
                        concurrency=200,
                        executor="chancy.executors.asyncex.AsyncExecutor",
                        polling_interval=1,
                        eager_polling=True,
                    ),
                    upsert=True,
                )
                async with chancy.pool.connection() as connection:
                    await connection.execute("truncate chancy_jobs")
            case ["fill", jobs]:
                for _ in range(int(jobs) // 1000):
                    await bulk(chancy)
            case ["enqueue", kind, seconds]:
                count, began = 0, time.monotonic()
                while time.monotonic() - began < float(seconds):
                    if kind == "one":
                        await chancy.push(noop)
                        count += 1
                    else:
                        count += await bulk(chancy)
                print(json.dumps({"jobs": count, "seconds": time.monotonic() - began}), flush=True)
            case ["work"]:
                loop = asyncio.get_running_loop()
                print("ready", flush=True)
                await loop.run_in_executor(None, sys.stdin.readline)
                threading.Thread(target=_end_with_input, daemon=True).start()
                async with Worker(chancy, register_signal_handlers=False) as worker:
                    await worker.wait_for_shutdown()


async def bulk(chancy: Chancy) -> int:
    count = 0
    async for references in chancy.push_many([noop.job.with_kwargs(n=n) for n in range(1000)]):
        count += len(references)
    return count


def _end_with_input() -> None:
    """End the process at once: the shutdown of chancy would wait."""
    sys.stdin.readline()
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
