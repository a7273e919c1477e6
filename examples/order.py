"""An order: charged, shipped, then waiting for the parcel's signal, for days if it must.

$ kairos dev examples/order.py
$ kairos enqueue examples/order.py order order_id=42 --unique order:42
$ kairos signal order:42 delivered '{"at": "noon"}'
"""

import asyncio
from typing import Any

from pydantic import BaseModel

from kairos import Await, Backoff, Context, Done, Kairos, Next, step

app = Kairos()


class OrderState(BaseModel):
    order_id: int
    charge: str | None = None


@app.machine("order", queue="orders")
class Order:
    State = OrderState

    @step(initial=True, to=["ship"])
    async def charge(self, ctx: Context[OrderState]) -> Next:
        return Next("ship", ctx.state.model_copy(update={"charge": f"ch_{ctx.state.order_id}"}))

    @step
    async def ship(self, ctx: Context[OrderState]) -> Await | Done:
        if (parcel := ctx.take("delivered")) is None:
            return Await("delivered")
        return Done({"order": ctx.state.order_id, "charge": ctx.state.charge, "at": parcel.payload["at"]})

    def handle(self, error: Exception, ctx: Context[OrderState]) -> Any:
        return Backoff(attempts=3)(error, ctx)


async def main() -> None:
    async with app, app.worker():
        order = await Order.options(unique="order:42").enqueue(order_id=42)
        await app.signal("order:42", "delivered", {"at": "noon"}, dedup_key="event-7")
        print("order ->", await app.result(order.id, timeout="30s"))


if __name__ == "__main__":
    asyncio.run(main())
