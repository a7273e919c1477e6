"""The actions that the benchmark's workers run."""

from __future__ import annotations

import asyncio
import time

from pydantic import BaseModel

from kairos import Context, Done, Kairos, Next, step

QUEUE = "bench"
LINE = "moving"  # the key whose jobs run one by one while other jobs drain
STEPS = 10

app = Kairos()
waits: list[float] = []  # pick-up latencies of this process, in seconds


@app.job(queue=QUEUE)
async def noop(n: int) -> None:
    """Do nothing, so that only the cost of Kairos is measured."""


@app.job(queue=QUEUE)
async def stamp(sent: float) -> None:
    """Record the pick-up latency; all processes of a machine share CLOCK_MONOTONIC."""
    waits.append(time.monotonic() - sent)


@app.job(queue=QUEUE)
async def sleeper(seconds: float) -> None:
    await asyncio.sleep(seconds)


@app.job(queue=QUEUE)
async def talker(ctx: Context, lines: int, pause: float) -> None:
    """Log lines that hold the time at which each was logged, after a pause in which readers connect."""
    await asyncio.sleep(1)
    for _ in range(lines):
        ctx.log.info("line", said=time.monotonic())
        await asyncio.sleep(pause)


class Count(BaseModel):
    n: int = 0


@app.machine("ten", queue=QUEUE)
class Ten:
    """A machine of ten steps, each of which changes the state."""

    State = Count

    @step(initial=True)
    async def go(self, ctx):
        n = ctx.state.n + 1
        return Done({"n": n}) if n == STEPS else Next("go", Count(n=n))
