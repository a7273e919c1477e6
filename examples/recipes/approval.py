"""Human approval: an expense waits for a person, for days if it must, and goes to their manager after that.

$ kairos dev examples/recipes/approval.py
$ kairos enqueue examples/recipes/approval.py expense amount=900 --unique expense:7
$ kairos signal expense:7 approved '{"by": "ada"}'
"""

import asyncio

from pydantic import BaseModel

from kairos import Await, Context, Done, Kairos, Next, Stop, step

app = Kairos()


class ExpenseState(BaseModel):
    amount: int
    answer_within: str = "3d"
    asked: str = "team lead"


@app.machine("expense", queue="finance")
class Expense:
    State = ExpenseState

    @step(initial=True, to=["ask", "pay"])
    async def check(self, ctx: Context[ExpenseState]) -> Next:
        return Next("pay" if ctx.state.amount < 100 else "ask")

    @step(to=["pay", "escalate"])
    async def ask(self, ctx: Context[ExpenseState]) -> Next | Await | Stop:
        """Answer a signal that is there already; otherwise park. A parked job costs one row and no worker."""
        if (yes := ctx.take("approved")) is not None:
            ctx.log.info("approved", by=yes.payload["by"])
            return Next("pay")
        if (no := ctx.take("refused")) is not None:
            return Stop(f"refused by {no.payload['by']}")
        return Await("approved", "refused", timeout=ctx.state.answer_within, then="escalate")

    @step(to=["ask"])
    async def escalate(self, ctx: Context[ExpenseState]) -> Next | Stop:
        if ctx.state.asked == "manager":
            return Stop("nobody answered")
        return Next("ask", ctx.state.model_copy(update={"asked": "manager"}))

    @step(to=[])
    async def pay(self, ctx: Context[ExpenseState]) -> Done:
        return Done({"paid": ctx.state.amount, "asked": ctx.state.asked})


async def main() -> None:
    async with app, app.worker():
        small = await Expense.enqueue(amount=20)
        print("small ->", await app.result(small.id, timeout="30s"))

        large = await Expense.options(unique="expense:7").enqueue(amount=900)
        await app.signal("expense:7", "approved", {"by": "ada"}, dedup_key="mail-1")
        print("large ->", await app.result(large.id, timeout="30s"))

        slow = await Expense.enqueue(amount=500, answer_within="100ms")
        while (await app.get(slow.id)).machine_state.get("asked") != "manager":
            await asyncio.sleep(0.05)
        print("slow ->", "the manager was asked")


if __name__ == "__main__":
    asyncio.run(main())
