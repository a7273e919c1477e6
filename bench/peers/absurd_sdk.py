"""absurd as its users would write it, with the settings found fastest: an async worker that claims 100 tasks at once.

It cannot enqueue many tasks in one call: a bulk enqueue is a loop in one transaction.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time

from absurd_sdk import AsyncAbsurd
from psycopg import AsyncConnection

URL = os.environ["KAIROS_DATABASE_URL"]
QUEUE = "bench"


async def main(command: list[str]) -> None:
    connection = await AsyncConnection.connect(URL, autocommit=True)
    absurd = AsyncAbsurd(connection, queue_name=QUEUE)

    @absurd.register_task("noop")
    async def noop(params: object, ctx: object) -> None:
        """Do nothing."""

    match command:
        case ["install"]:
            found = await (await connection.execute("select to_regnamespace('absurd')::text")).fetchone()
            if found == (None,):
                from absurdctl import BUNDLED_SCHEMA_SQL

                await connection.execute(BUNDLED_SCHEMA_SQL)
            await absurd.create_queue(QUEUE)
            await connection.execute(f"truncate absurd.t_{QUEUE}, absurd.r_{QUEUE}, absurd.c_{QUEUE}")
        case ["fill", jobs]:
            for _ in range(int(jobs) // 1000):
                await bulk(connection, absurd)
        case ["enqueue", kind, seconds]:
            count, began = 0, time.monotonic()
            while time.monotonic() - began < float(seconds):
                if kind == "one":
                    await absurd.spawn("noop", {"n": count})
                    count += 1
                else:
                    count += await bulk(connection, absurd)
            print(json.dumps({"jobs": count, "seconds": time.monotonic() - began}), flush=True)
        case ["work"]:
            loop = asyncio.get_running_loop()
            print("ready", flush=True)
            await loop.run_in_executor(None, sys.stdin.readline)
            running = asyncio.create_task(
                absurd.start_worker(concurrency=100, batch_size=100, poll_interval=0.01)
            )
            ended = loop.run_in_executor(None, sys.stdin.readline)
            await asyncio.wait([running, ended], return_when="FIRST_COMPLETED")
            absurd.stop_worker()
            await asyncio.wait([running], timeout=10)


async def bulk(connection: AsyncConnection, absurd: AsyncAbsurd) -> int:
    async with connection.transaction():
        for number in range(1000):
            await absurd.spawn("noop", {"n": number})
    return 1000


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
