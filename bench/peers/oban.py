"""oban for Python as its users would write it, with the settings found fastest: one queue of 200 jobs at once."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time

from oban import Oban, worker
from oban.schema import install
from psycopg_pool import AsyncConnectionPool

QUEUE = "bench"


@worker(queue=QUEUE)
class Noop:
    """Do nothing."""

    async def process(self, job: object) -> None:
        """Do nothing."""


async def main(command: list[str]) -> None:
    async with AsyncConnectionPool(os.environ["KAIROS_DATABASE_URL"], min_size=4, max_size=16) as pool:
        oban = Oban(pool=pool, queues={QUEUE: 200} if command == ["work"] else {})
        match command:
            case ["install"]:
                async with pool.connection() as connection:
                    found = await (
                        await connection.execute("select to_regclass('oban_jobs')::text")
                    ).fetchone()
                if found == (None,):
                    await install(pool)
                async with pool.connection() as connection:
                    await connection.execute("truncate oban_jobs")
            case ["fill", jobs]:
                for _ in range(int(jobs) // 1000):
                    await bulk(oban)
            case ["enqueue", kind, seconds]:
                count, began = 0, time.monotonic()
                while time.monotonic() - began < float(seconds):
                    if kind == "one":
                        await oban.enqueue(Noop.new({"n": count}))
                        count += 1
                    else:
                        count += await bulk(oban)
                print(json.dumps({"jobs": count, "seconds": time.monotonic() - began}), flush=True)
            case ["work"]:
                loop = asyncio.get_running_loop()
                print("ready", flush=True)
                await loop.run_in_executor(None, sys.stdin.readline)
                async with oban:
                    await loop.run_in_executor(None, sys.stdin.readline)
                    os._exit(0)  # its own shutdown would wait


async def bulk(oban: Oban) -> int:
    return len(await oban.enqueue_many([Noop.new({"n": number}) for number in range(1000)]))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
