"""The app under test: its machines, the worker process that runs them, and the process of the HTTP service."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from chaos.failpoints import Failpoints
from chaos.journal import Journal
from chaos.mutants import MUTANTS
from kairos import Await, Backoff, Context, Done, Kairos, Next, step
from kairos.api import ServiceSettings
from kairos.cli.serve import served
from kairos.cli.worker_process import Stop, exit_if_stuck, run
from kairos.operations.machines import register

STEPS = 4
CHILDREN = 3
MARK = "CHAOS_FOLDER"
OLD, NEW = 1, 2  # releases of the app; only the new one has version 2 of `trek`
QUEUES: dict[str, int | None] = {"default": None, "limited": None}
RETRY = Backoff(attempts=100, base=0.05, cap=0.2)


def build(
    url: str,
    journal: Journal,
    hit: Callable[[str], None] = lambda name: None,
    release: int = NEW,
    **connecting: Any,
) -> Kairos:
    """Return the app that workers, the service and clients use; `hit` is called at failpoints in steps."""
    app = Kairos(url, **connecting)

    async def work_a_while(ctx: Context, slow: float = 0.1) -> None:
        """Sleep briefly, or with the probability `slow` so long that the nemesis can hit the step.

        A repeated step sleeps as long as before, so that a zombie and its successor run at the same time.
        """
        journal.step("begin", ctx, n=ctx.state.get("n"), key=ctx.state.get("key"))
        dice = random.Random(f"{ctx.id} {ctx.step} {ctx.state.get('n')}")
        await asyncio.sleep(dice.uniform(0.4, 0.9) if dice.random() < slow else dice.uniform(0, 0.01))

    @app.machine("walk", retry=RETRY)
    class Walk:
        """Steps 0, 1, 2 …; every second one inserts a row in its own transaction."""

        @step
        async def work(self, ctx: Context) -> Any:
            await work_a_while(ctx)
            n = ctx.state["n"]
            ctx.log.info("a step", n=n)
            if n % 2:
                async with ctx.transaction() as connection:
                    await connection.execute("insert into effects (job, n) values ($1, $2)", ctx.id, n)
                    hit("inside ctx.transaction")
            journal.step("end", ctx, n=n)
            return Done(n) if n == STEPS - 1 else Next("work", {**ctx.state, "n": n + 1})

    @app.machine("inbox", retry=RETRY)
    class Inbox:
        """Awaits `wanted` signals, and ends with their numbers."""

        @step
        async def collect(self, ctx: Context) -> Any:
            await work_a_while(ctx, 0.05)
            got = list(ctx.state["got"])
            while message := ctx.take("message"):
                got.append(message.payload["number"])
            journal.step("end", ctx)
            if len(got) >= ctx.state["wanted"]:
                return Done(got)
            return Await("message", state={**ctx.state, "got": got})

    @app.job
    async def child(ctx: Context, number: int) -> int:
        await asyncio.sleep(0.005)
        return number

    @app.machine("family", retry=RETRY)
    class Family:
        @step(initial=True, to=["gather"])
        async def scatter(self, ctx: Context) -> Any:
            await work_a_while(ctx)
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
        journal.write("dies")
        os.kill(os.getpid(), signal.SIGKILL)

    @app.job(retry=RETRY)
    async def tick(ctx: Context) -> None:
        await asyncio.sleep(0.001)

    for version in range(1, release + 1):

        @app.machine("trek", version=version, retry=RETRY)
        class Trek:
            """An action with a version for each release: a job ends on the version it was enqueued with."""

            answer = version

            @step
            async def work(self, ctx: Context) -> Any:
                await asyncio.sleep(0.005)
                return Done(self.answer)

    return app


def work(
    url: str,
    folder: Path,
    settings: dict[str, Any],
    release: int,
    mutant: str | None,
    connecting: dict[str, Any],
    declare: Callable[[Kairos], None] = lambda app: None,
) -> None:
    """Run a worker until SIGTERM, with the machines of `build` and those of `declare`."""

    async def serve(stop: Stop, stack: AsyncExitStack, journal: Journal) -> None:
        failpoints = Failpoints(folder, journal)
        failpoints.install()
        app = build(url, journal, failpoints.hit, release, **connecting)
        declare(app)
        await stack.enter_async_context(app)
        if mutant is not None:
            app.store.sql = MUTANTS[mutant].apply(dict(app.store.sql))
        worker = await stack.enter_async_context(app.worker(**{"queues": QUEUES, **settings}))
        journal.write("ready", worker=worker.name, release=release)
        await stop.wait()

    _until_stopped(folder, serve)


def serve_http(url: str, folder: Path, port: int, connecting: dict[str, Any] | None = None) -> None:
    """Run the HTTP service until SIGTERM."""

    async def serve(stop: Stop, stack: AsyncExitStack, journal: Journal) -> None:
        app = await stack.enter_async_context(build(url, journal, **(connecting or {})))
        await app.run(register(app.registry))
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(100)
        await stack.enter_async_context(served(app, ServiceSettings(port=port), listening))
        journal.write("serving")
        await stop.wait()

    _until_stopped(folder, serve)


def _until_stopped(
    folder: Path, serve: Callable[[Stop, AsyncExitStack, Journal], Coroutine[Any, Any, None]]
) -> None:
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ[MARK] = str(folder)

    async def main() -> int:
        stop = Stop()
        stop.listen()
        async with AsyncExitStack() as stack:
            await serve(stop, stack, Journal(folder / "journal"))
        return stop.code

    os._exit(exit_if_stuck(run(main())))
