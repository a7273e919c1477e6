"""An order as a saga: reserve, charge, ship; when one of them fails for good, undo the ones before it.

$ kairos dev examples/recipes/order_saga.py
$ kairos enqueue examples/recipes/order_saga.py order_saga order_id=42 address=Oslo
"""

import asyncio

from pydantic import BaseModel

from kairos import Backoff, Context, Done, Kairos, Next, Replay, Stop, step

app = Kairos()


class Saga(BaseModel):
    order_id: int
    address: str
    done: list[str] = []  # what would have to be undone, oldest first
    failure: str = ""


class NoSuchAddress(Exception):
    """The carrier will never deliver there: trying again is of no use."""


@app.machine("order_saga", queue="orders")
class OrderSaga:
    State = Saga

    @step(initial=True, to=["charge", "undo"])
    async def reserve(self, ctx: Context[Saga]) -> Next:
        # Every call outside carries a key that is the same on each attempt, so that a repetition changes nothing.
        ctx.log.info("reserving", idempotency_key=f"{ctx.id}/reserve")
        return Next("charge", _with(ctx.state, "reserve"))

    @step(to=["ship", "undo"])
    async def charge(self, ctx: Context[Saga]) -> Next:
        ctx.log.info("charging", idempotency_key=f"{ctx.id}/charge")
        return Next("ship", _with(ctx.state, "charge"))

    @step(to=["undo"])
    async def ship(self, ctx: Context[Saga]) -> Done:
        if ctx.state.address == "Atlantis":
            raise NoSuchAddress(ctx.state.address)
        return Done({"order": ctx.state.order_id, "shipped_to": ctx.state.address})

    @step(to=["undo"])
    async def undo(self, ctx: Context[Saga]) -> Next | Stop:
        """Undo one thing per run, newest first; each is committed before the next."""
        if not ctx.state.done:
            return Stop(f"order {ctx.state.order_id} was undone: {ctx.state.failure}")
        *others, newest = ctx.state.done
        ctx.log.info("undoing", what=newest, idempotency_key=f"{ctx.id}/undo-{newest}")
        return Next("undo", ctx.state.model_copy(update={"done": others}))

    def handle(self, error: Exception, ctx: Context[Saga]) -> Replay | Stop | Next:
        if ctx.step == "undo":
            return Backoff(attempts=100, cap="1h")(error, ctx)  # money is at stake: do not give up soon
        again = Backoff(attempts=3, base="100ms")(error, ctx)
        if isinstance(error, NoSuchAddress) or isinstance(again, Stop):
            return Next("undo", ctx.state.model_copy(update={"failure": f"{ctx.step} failed, {error!r}"}))
        return again


def _with(state: Saga, what: str) -> Saga:
    return state.model_copy(update={"done": [*state.done, what]})


async def main() -> None:
    async with app, app.worker():
        good = await OrderSaga.enqueue(order_id=1, address="Oslo")
        print("good ->", await app.result(good.id, timeout="30s"))
        bad = await OrderSaga.enqueue(order_id=2, address="Atlantis")
        while not (job := await app.get(bad.id)).is_terminal:
            await asyncio.sleep(0.05)
        print("bad ->", job.state, job.error)
        undone = [line.fields["what"] for line in await app.logs(bad.id) if line.line == "undoing"]
        print("undone ->", undone)


if __name__ == "__main__":
    asyncio.run(main())
