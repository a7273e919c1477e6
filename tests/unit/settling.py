"""Machines, claims and the decision on them, without a worker or a database."""

from __future__ import annotations

import inspect
from typing import Any

from pydantic import BaseModel

from kairos import Context, Kairos, step
from kairos.worker.claim import Claim
from kairos.worker.settle import Settlement, settle

app = Kairos()


class Cart(BaseModel):
    items: int = 0


@app.machine("order")
class Order:
    State = Cart

    @step(initial=True, to=["ship"])
    async def charge(self, ctx: Context[Cart]) -> Any: ...

    @step
    async def ship(self, ctx: Context[Cart]) -> Any: ...


@app.machine("slow", run_ahead=False)
class Slow:
    @step
    async def only(self, ctx: Context) -> Any: ...


@app.job
async def send(user: int) -> None: ...


def claim(at: str = "charge", **changes: Any) -> Claim:
    known = {"queue": "default", "id": 7, "lease": 3, "version": 1, "state": "{}", "attempt": 0}
    values = known | {"action": "order", "step": at, "awaits": ()} | changes
    return Claim(**{name: values.get(name) for name in inspect.signature(Claim).parameters})


def decide(
    returned: Any,
    error: BaseException | None = None,
    *,
    action: Any = Order,
    at: str | None = None,
    **more: Any,
) -> Settlement:
    return settle(claim(at or action.machine.initial), action.machine, returned, error, **more)


BROKEN = ValueError("no")
