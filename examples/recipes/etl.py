"""ETL with fan-out: split a table into ranges, transform them in parallel processes, load each exactly once.

$ kairos dev examples/recipes/etl.py
$ kairos enqueue examples/recipes/etl.py etl_run rows=1000 chunk=250
"""

import asyncio
import math

from pydantic import BaseModel

from kairos import Await, Backoff, Context, Done, Kairos, Next, Stop, step

app = Kairos()


class Range(BaseModel):
    first: int
    last: int
    roots: list[float] = []


@app.machine("etl_chunk", queue="etl", retry=Backoff(attempts=3, base="1s"))
class Chunk:
    """One range of rows: transformed in a process of its own, then loaded in the commit of its outcome."""

    State = Range

    @step(initial=True, to=["load"], runs_in="process", timeout="10m")
    def transform(self, ctx: Context[Range]) -> Next:
        rows = range(ctx.state.first, ctx.state.last)
        return Next("load", ctx.state.model_copy(update={"roots": [math.sqrt(row) for row in rows]}))

    @step(to=[])
    async def load(self, ctx: Context[Range]) -> Done:
        async with ctx.transaction() as db:
            await db.execute(
                "insert into roots select * from unnest($1::int[], $2::float8[]) "
                "on conflict (id) do update set root = excluded.root",
                list(range(ctx.state.first, ctx.state.last)),
                ctx.state.roots,
            )
        return Done(len(ctx.state.roots))


class RunState(BaseModel):
    rows: int
    chunk: int = 250
    open: int = 0
    loaded: int = 0


@app.machine("etl_run")
class Run:
    State = RunState

    @step(initial=True, to=["gather"])
    async def split(self, ctx: Context[RunState]) -> Next:
        async with ctx.transaction() as db:
            await db.execute("create table if not exists roots (id int primary key, root float8 not null)")
        starts = range(0, ctx.state.rows, ctx.state.chunk)
        last = ctx.state.rows
        ctx.spawn(
            *(Chunk.call(first=first, last=min(first + ctx.state.chunk, last)) for first in starts),
            reply="loaded",
        )
        return Next("gather", ctx.state.model_copy(update={"open": len(starts)}))

    @step(to=[])
    async def gather(self, ctx: Context[RunState]) -> Await | Done | Stop:
        state = ctx.state
        while (reply := ctx.take("loaded")) is not None:
            if reply.payload["state"] != "success":
                return Stop(
                    f"chunk {reply.payload['job']} is {reply.payload['state']}: retry it, then this run"
                )
            loaded = state.loaded + reply.payload["output"]
            state = state.model_copy(update={"open": state.open - 1, "loaded": loaded})
            ctx.progress(state.loaded, state.rows)
        return Await("loaded", state=state) if state.open else Done({"rows": state.loaded})


async def main() -> None:
    async with app, app.worker(concurrency=4):
        run = await Run.enqueue(rows=1000)
        print("run ->", await app.result(run.id, timeout="120s"))


if __name__ == "__main__":
    asyncio.run(main())
