"""The app behind the browser tests: one machine of every kind that a page shows."""

import asyncio
from typing import Any

from kairos import Await, Backoff, Context, Done, Kairos, Next, step

app = Kairos()
LONG = [f"step_{number:02}" for number in range(20)]


@app.job(redact=["token"])
async def greet(ctx: Context[Any], name: str, times: int = 1, token: str = "") -> str:
    ctx.log.info("greeting", name=name)
    return f"Hello, {name}!" * times


@app.job
async def echo(ctx: Context[Any], value: Any = None) -> Any:
    ctx.log.info("got it", value=value)
    return value


@app.job(retry=Backoff(attempts=1))
async def fail(why: str = "no reason") -> None:
    raise ValueError(why)


@app.job(queue="slow")
async def nap(ctx: Context[Any], seconds: float = 60) -> str:
    ctx.progress(1, 4)
    for _ in range(int(seconds * 20)):
        await ctx.checkpoint()
        await asyncio.sleep(0.05)
    return "rested"


@app.job(queue="slow")
async def write(ctx: Context[Any], lines: int, pause: float = 0.0) -> int:
    for number in range(lines):
        ctx.log.info(f"line {number}")
        if pause or number % 1000 == 0:
            await asyncio.sleep(pause)
    return lines


@app.machine("order", queue="orders")
class Order:
    @step(initial=True, to=["ship", "refuse"])
    async def charge(self, ctx: Context[Any]) -> Next:
        return Next("ship")

    @step
    async def ship(self, ctx: Context[Any]) -> Await | Done:
        if (parcel := ctx.take("delivered")) is None:
            return Await("delivered")
        return Done(parcel.payload)

    @step
    async def refuse(self, ctx: Context[Any]) -> Done:
        return Done("refused")


def _long(number: int) -> Any:
    async def run(self: Any, ctx: Context[Any]) -> Done:
        return Done(number)

    run.__name__ = LONG[number]
    if number == len(LONG) - 1:
        return step(run)
    onward = [LONG[number + 1], *LONG[number + 3 : number + 4]]
    return step(initial=number == 0, to=onward)(run)


app.machine("long")(type("Long", (), {name: _long(number) for number, name in enumerate(LONG)}))
