"""Fan-out and fan-in: one job spawns many, and goes on when every one of them has replied.

$ kairos dev examples/fanout.py
$ kairos enqueue examples/fanout.py census 'cities=["Oslo", "Lima", "Pune"]'
"""

import asyncio

from pydantic import BaseModel

from kairos import Await, Context, Done, Kairos, Next, step

app = Kairos()


@app.job(queue="counting")
async def count(city: str) -> int:
    return len(city)


class CensusState(BaseModel):
    cities: list[str]
    counted: list[int] = []


@app.machine("census")
class Census:
    State = CensusState

    @step(initial=True, to=["gather"])
    async def spread(self, ctx: Context[CensusState]) -> Next:
        ctx.spawn(*(count.call(city=city) for city in ctx.state.cities), reply="counted")
        return Next("gather")

    @step
    async def gather(self, ctx: Context[CensusState]) -> Await | Done:
        counted = list(ctx.state.counted)
        while (reply := ctx.take("counted")) is not None:
            counted.append(reply.payload["output"])
        if len(counted) < len(ctx.state.cities):
            return Await("counted", state=CensusState(cities=ctx.state.cities, counted=counted))
        return Done({"cities": len(counted), "letters": sum(counted)})


async def main() -> None:
    async with app, app.worker():
        census = await Census.enqueue(cities=["Oslo", "Lima", "Pune"])
        print("census ->", await app.result(census.id, timeout="30s"))


if __name__ == "__main__":
    asyncio.run(main())
