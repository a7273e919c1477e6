"""The app behind the browser tests: one machine of every kind that a page shows."""

import asyncio
from typing import Any

from pydantic import BaseModel

from kairos import Await, Backoff, Context, Done, Kairos, Next, step

app = Kairos()
LONG = [f"step_{number:02}" for number in range(20)]


@app.job(redact=["token"], search=["name"])
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


@app.job(retry=Backoff(attempts=1))
async def fail_in_a_thread() -> None:
    await asyncio.to_thread(_fail)


def _fail() -> None:
    raise ValueError("called by a library")


@app.job(retry=Backoff(attempts=3, base=2, jitter=0))
async def flaky(ctx: Context[Any], failures: int = 1) -> str:
    ctx.log.info("trying", attempt=ctx.attempt)
    if ctx.attempt < failures:
        raise ConnectionError("the till does not answer")
    return "worked"


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
        return Next("ship", {**ctx.state, "charge": "ch_1"})

    @step
    async def ship(self, ctx: Context[Any]) -> Await | Done:
        if (parcel := ctx.take("delivered")) is None:
            return Await("delivered")
        return Done(parcel.payload)

    @step
    async def refuse(self, ctx: Context[Any]) -> Done:
        return Done("refused")


class Basket(BaseModel):
    email: str
    total: int = 20
    card: str = "valid"
    reservation: str | None = None


@app.machine("checkout", queue="checkout", keep_states=True, search=["email"])
class Checkout:
    """Reserves, then charges; a card that has expired is refused after a while."""

    State = Basket

    @step(initial=True, to=["charge"])
    async def reserve(self, ctx: Context[Basket]) -> Next:
        ctx.log.info("reserved", total=ctx.state.total)
        return Next("charge", ctx.state.model_copy(update={"reservation": f"r-{ctx.state.total}"}))

    @step
    async def charge(self, ctx: Context[Basket]) -> Done:
        await asyncio.sleep(0.3)
        if ctx.state.card == "expired":
            raise ValueError(f"the card of {ctx.state.email} has expired")
        return Done({"charged": ctx.state.total})

    handle = Backoff(attempts=1)


def _long(number: int) -> Any:
    async def run(self: Any, ctx: Context[Any]) -> Done:
        return Done(number)

    run.__name__ = LONG[number]
    if number == len(LONG) - 1:
        return step(run)
    onward = [LONG[number + 1], *LONG[number + 3 : number + 4]]
    return step(initial=number == 0, to=onward)(run)


app.machine("long")(type("Long", (), {name: _long(number) for number, name in enumerate(LONG)}))
