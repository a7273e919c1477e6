"""A program that enqueues through Kairos. `python -m bench.client enqueue one|bulk SECONDS | send COUNT RATE`."""

from __future__ import annotations

import asyncio
import json
import sys
import time

import uvloop

from bench.worker_actions import app, noop, stamp


async def enqueue(kind: str, seconds: float) -> None:
    async with app:
        count, began = 0, time.monotonic()
        while time.monotonic() - began < seconds:
            if kind == "one":
                await noop.enqueue(n=count)
                count += 1
            else:
                count += len(await app.enqueue_many(noop.call(n=n) for n in range(1000)))
        took = time.monotonic() - began
    print(json.dumps({"jobs": count, "seconds": took}), flush=True)


async def send(count: int, rate: float) -> None:
    async with app:
        began = time.monotonic()
        for number in range(count):
            await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
            await stamp.enqueue(sent=time.monotonic())


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["enqueue", kind, seconds]:
            uvloop.run(enqueue(kind, float(seconds)))
        case ["send", count, rate]:
            uvloop.run(send(int(count), float(rate)))
