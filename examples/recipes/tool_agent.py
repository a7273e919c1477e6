"""An agent that calls tools durably: every turn is a step, so a crash repeats one call and never the conversation.

$ kairos dev examples/recipes/tool_agent.py
$ kairos enqueue examples/recipes/tool_agent.py agent task="refund order 42"
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel

from kairos import Await, Backoff, Context, Done, Kairos, Next, Stop, step

app = Kairos()


class Chat(BaseModel):
    task: str
    messages: list[dict[str, Any]] = []
    turns: int = 0
    wanted: dict[str, Any] | None = None  # the tool call that the model asked for last


async def ask_model(task: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Stand in for a model: it looks the order up, refunds it, and answers. Put your provider's client here."""
    script: list[dict[str, Any]] = [
        {"tool": "find_order", "arguments": {"text": task}},
        {"tool": "refund", "arguments": {"order": 42}},
        {"answer": "Order 42 was refunded."},
    ]
    return script[len(messages) // 2]


async def find_order(key: str, text: str) -> dict[str, Any]:
    return {"order": int(text.split()[-1]), "paid": 90}


async def refund(key: str, order: int) -> dict[str, Any]:
    return {"refunded": order, "idempotency_key": key}


TOOLS: dict[str, Callable[..., Awaitable[dict[str, Any]]]] = {"find_order": find_order, "refund": refund}
ASK_FIRST = {"refund"}  # a person must approve these
MOST_TURNS = 20


@app.machine("agent", queue="agents", retry=Backoff(attempts=6, base="1s", cap="1m"))
class Agent:
    State = Chat

    @step(initial=True, to=["approve", "act"], timeout="2m")
    async def think(self, ctx: Context[Chat]) -> Next | Done | Stop:
        if ctx.state.turns >= MOST_TURNS:
            return Stop(f"no answer after {MOST_TURNS} turns")
        reply = await ask_model(ctx.state.task, ctx.state.messages)
        if "answer" in reply:
            return Done({"answer": reply["answer"], "turns": ctx.state.turns})
        ctx.log.info("the model asks for a tool", tool=reply["tool"])
        state = ctx.state.model_copy(update={"wanted": reply, "turns": ctx.state.turns + 1})
        return Next("approve" if reply["tool"] in ASK_FIRST else "act", state)

    @step(to=["act", "think"])
    async def approve(self, ctx: Context[Chat]) -> Next | Await:
        if ctx.take("approved"):
            return Next("act")
        if ctx.take("refused"):
            return Next("think", _told(ctx.state, {"error": "A person refused this call."}))
        return Await("approved", "refused")

    @step(to=["think"], timeout="5m")
    async def act(self, ctx: Context[Chat]) -> Next:
        """Call the tool. Its key is the same on every attempt of this turn, and another one on the next turn."""
        assert ctx.state.wanted is not None
        tool = TOOLS[ctx.state.wanted["tool"]]
        result = await tool(f"{ctx.id}/{ctx.state.turns}", **ctx.state.wanted["arguments"])
        return Next("think", _told(ctx.state, result))


def _told(state: Chat, result: dict[str, Any]) -> Chat:
    messages = [*state.messages, {"call": state.wanted}, {"result": result}]
    return state.model_copy(update={"messages": messages, "wanted": None})


async def main() -> None:
    async with app, app.worker():
        job = await Agent.options(unique="agent:42").enqueue(task="refund order 42")
        await app.signal("agent:42", "approved", {"by": "ada"})
        print("agent ->", await app.result(job.id, timeout="30s"))


if __name__ == "__main__":
    asyncio.run(main())
