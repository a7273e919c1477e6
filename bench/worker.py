"""One Kairos worker process: `python -m bench.worker CONCURRENCY`; ends at the end of its input, with its figures."""

from __future__ import annotations

import asyncio
import json
import sys

import uvloop

from bench.worker_actions import QUEUE, app, waits


async def main(concurrency: int) -> None:
    async with app, app.worker(queues=[QUEUE], concurrency=concurrency):
        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    print(json.dumps({"waits": waits}), flush=True)


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
