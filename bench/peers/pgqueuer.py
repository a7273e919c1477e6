"""pgqueuer as its users would write it, with the settings found fastest: a pool, uvloop, batches of `BATCH`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time

import asyncpg
import uvloop
from pgqueuer import PgQueuer, Queries
from pgqueuer.db import AsyncpgPoolDriver

BATCH = int(os.environ.get("PGQUEUER_BATCH", "1000"))


async def main(command: list[str]) -> None:
    async with asyncpg.create_pool(os.environ["KAIROS_DATABASE_URL"], min_size=2, max_size=4) as pool:
        queries = Queries(AsyncpgPoolDriver(pool))
        match command:
            case ["install"]:
                if await pool.fetchval("select to_regclass('pgqueuer') is null"):
                    await queries.install()
                await pool.execute("truncate pgqueuer, pgqueuer_log")
            case ["fill", jobs]:
                for _ in range(int(jobs) // 1000):
                    await bulk(queries)
            case ["enqueue", kind, seconds]:
                count, began = 0, time.monotonic()
                while time.monotonic() - began < float(seconds):
                    if kind == "one":
                        await queries.enqueue("noop", b'{"n":1}')
                        count += 1
                    else:
                        count += await bulk(queries)
                print(json.dumps({"jobs": count, "seconds": time.monotonic() - began}), flush=True)
            case ["work"]:
                await work(pool)


async def bulk(queries: Queries) -> int:
    return len(await queries.enqueue(["noop"] * 1000, [b'{"n":1}'] * 1000, [0] * 1000))


async def work(pool: asyncpg.Pool) -> None:
    queuer = PgQueuer(AsyncpgPoolDriver(pool))

    @queuer.entrypoint("noop")
    async def noop(job: object) -> None:
        """Do nothing."""

    loop = asyncio.get_running_loop()
    print("ready", flush=True)
    await loop.run_in_executor(None, sys.stdin.readline)
    running = asyncio.create_task(queuer.run(batch_size=BATCH))
    ended = loop.run_in_executor(None, sys.stdin.readline)
    await asyncio.wait([running, ended], return_when="FIRST_COMPLETED")
    queuer.shutdown.set()
    await asyncio.wait_for(running, 30)


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1:]))
