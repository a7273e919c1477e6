"""The work that is done under fire, and the worker that does it; a mutant breaks the engine on purpose."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chaos.journal import Journal
from kairos import Await, Backoff, Context, Done, Kairos, Next, step
from kairos.cli.serve import Stop, leave, run

STEPS = 4
CHILDREN = 3
MARK = "CHAOS_FOLDER"


def build(url: str, journal: Journal) -> Kairos:
    """The app of the workers and of their clients."""
    app = Kairos(url)

    async def toil(ctx: Context, slow: float = 0.1) -> None:
        """Mostly quick, and sometimes long enough to be aimed at: also when it is run again, so that they meet."""
        journal.step("begin", ctx, n=ctx.state.get("n"), key=ctx.state.get("key"))
        dice = random.Random(f"{ctx.id} {ctx.step} {ctx.state.get('n')}")
        await asyncio.sleep(dice.uniform(0.4, 0.9) if dice.random() < slow else dice.uniform(0, 0.01))

    @app.machine("walk", retry=Backoff(attempts=100, base=0.05, cap=0.2))
    class Walk:
        """Steps 0, 1, 2 …, each committed once, each with one row of its own in the same commit."""

        @step
        async def work(self, ctx: Context) -> Any:
            await toil(ctx)
            n = ctx.state["n"]
            if n % 2:
                async with ctx.transaction() as connection:
                    await connection.execute("insert into effects (job, n) values ($1, $2)", ctx.id, n)
            journal.step("end", ctx, n=n)
            return Done(n) if n == STEPS - 1 else Next("work", {**ctx.state, "n": n + 1})

    @app.machine("inbox", retry=Backoff(attempts=100, base=0.05, cap=0.2))
    class Inbox:
        """Waits for as many signals as it was told, and ends with what they carried."""

        @step
        async def collect(self, ctx: Context) -> Any:
            await toil(ctx, 0.05)
            got = list(ctx.state["got"])
            while letter := ctx.take("letter"):
                got.append(letter.payload["number"])
            journal.step("end", ctx)
            if len(got) >= ctx.state["wanted"]:
                return Done(got)
            return Await("letter", state={**ctx.state, "got": got})

    @app.job
    async def child(ctx: Context, number: int) -> int:
        await asyncio.sleep(0.005)
        return number

    @app.machine("family", retry=Backoff(attempts=100, base=0.05, cap=0.2))
    class Family:
        @step(initial=True, to=["gather"])
        async def scatter(self, ctx: Context) -> Any:
            await toil(ctx)
            ctx.spawn(*(child.call(number=n) for n in range(CHILDREN)), reply="done")
            journal.step("end", ctx)
            return Next("gather", {"got": []})

        @step(to=[])
        async def gather(self, ctx: Context) -> Any:
            got = list(ctx.state["got"])
            while reply := ctx.take("done"):
                got.append(reply.payload["output"])
            return Done(sorted(got, key=str)) if len(got) == CHILDREN else Await("done", state={"got": got})

    @app.job
    async def poison(ctx: Context) -> None:
        journal.step("begin", ctx)
        os.kill(os.getpid(), signal.SIGKILL)

    return app


def work(url: str, folder: Path, settings: dict[str, Any], mutant: str | None) -> None:
    """A worker, until it is told to stop or killed."""
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ[MARK] = str(folder)

    async def serve() -> int:
        journal = Journal(folder / "journal")
        stop = Stop()
        stop.listen()
        app = build(url, journal)
        async with app:
            if mutant is not None:
                app.store.sql = MUTANTS[mutant](dict(app.store.sql))
            async with app.worker(**settings) as worker:
                journal.tell("ready", worker=worker.name)
                await stop.wait()
        return stop.code

    os._exit(leave(run(serve())))


Statements = dict[str, str]


def _replaced(names: tuple[str, ...], old: str, new: str) -> Callable[[Statements], Statements]:
    def mutate(sql: Statements) -> Statements:
        for name in names:
            sql[name], found = re.subn(old, new, sql[name])
            if not found:
                raise ValueError(f"{name}.sql has no {old!r} any more: the mutant needs another place.")
        return sql

    return mutate


_FENCE = r"g\.lease = o\.lease and coalesce\(g\.locked_by, ''\) = \$\d+(::text)?"

_unfenced = _replaced(("settle_jobs", "finish_jobs", "park_jobs"), _FENCE, "g.locked_by is not null")
_deaf = _replaced(("renew_leases",), r"coalesce\([^)]*(\(\)[^)]*)*\) as lost", "false as lost")

# Each breaks one promise, and must be found out by the checker.
MUTANTS: dict[str, Callable[[Statements], Statements]] = {
    # A zombie, which nobody tells that it is one, commits over the one who has its job now.
    "unfenced": lambda sql: _deaf(_unfenced(sql)),
    # A step that takes one signal consumes all there are.
    "greedy": _replaced(("park_jobs",), r"s\.id = any \(\$\d+::bigint\[\]\) and ", ""),
    # A TTL closes before its time.
    "early": _replaced(("expire_jobs",), r"kairos\.now\(\)", "(kairos.now() + interval '0.3 s')"),
}
