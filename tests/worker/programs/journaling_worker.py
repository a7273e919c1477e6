"""A worker in a process of its own, whose steps tell what they do in a journal and die where they are told to."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chaos.journal import Journal

from kairos import Await, Backoff, Context, Done, Kairos, Next, step
from kairos.cli.log_output import Format, configure
from kairos.cli.worker_process import Stop, exit_if_stuck, run
from kairos.store.async_store import AsyncStore
from kairos.store.query import Query
from kairos.worker import transaction
from kairos.worker.transaction import StepTransaction

FREEZE = "freeze"
FOLDER = "HAND_FOLDER"  # in the environment: by it a test finds what its workers left behind


def build(database: str, folder: Path) -> Kairos:
    """The app that every hand runs, and that a test enqueues through."""
    app = Kairos(database)
    journal = Journal(folder / "journal")
    hit = failpoints(folder)

    @app.job
    async def sleep(ctx: Context, seconds: float) -> int:
        journal.step("begin", ctx)
        await asyncio.sleep(seconds)
        journal.step("end", ctx)
        return ctx.attempt

    @app.job
    def wait_for(ctx: Context, name: str) -> int:
        """Wait for a file, but only the first time."""
        journal.step("begin", ctx)
        while ctx.attempt == 0 and not (folder / name).exists():
            time.sleep(0.01)
        journal.step("end", ctx)
        return ctx.attempt

    @app.job
    def hold_gil(ctx: Context, seconds: float) -> int:
        """As a C extension or a bad regular expression would: no other thread of the process runs meanwhile."""
        journal.step("begin", ctx)
        ctypes.PyDLL(None).usleep(int(seconds * 1e6))
        journal.step("end", ctx)
        return ctx.attempt

    @app.job
    async def measure(text: str) -> int:
        return len(text)

    @app.job
    def poison(ctx: Context) -> None:
        journal.step("begin", ctx)
        os.kill(os.getpid(), signal.SIGKILL)

    @app.job(retry=Backoff(attempts=50, base=0.01, jitter=0))
    async def write(ctx: Context) -> int:
        hit("before the write")
        async with ctx.transaction() as connection:
            await connection.execute("insert into ledger (job) values ($1)", ctx.id)
            hit("in the block")
        hit("after the block")
        return ctx.attempt

    @app.job(retry=Backoff(attempts=50, base=0.01, jitter=0))
    def write_in_thread(ctx: Context) -> int:
        hit("before the write")
        with ctx.transaction() as connection:
            connection.execute("insert into ledger (job) values (%s)", [ctx.id])
            hit("in the block")
        hit("after the block")
        return ctx.attempt

    @app.job
    async def charge(ctx: Context) -> int:
        """Lock a row of the user's own and keep it until the outcome is committed."""
        async with ctx.transaction() as connection:
            await connection.execute("update account set charged = charged + 1")
            hit("in the block")
        return ctx.attempt

    @app.machine("park")
    class Park:
        @step
        async def wait(self, ctx: Context) -> Any:
            return Await("never") if ctx.attempt == 0 else Done(ctx.attempt)

    @app.machine("ten")
    class Ten:
        @step
        async def work(self, ctx: Context) -> Any:
            done = ctx.state.get("done", 0)
            journal.step("begin", ctx, done=done)
            hit(f"step {done}")
            return Done(done) if done == 9 else Next("work", {"done": done + 1})

    return app


# Statements that return what they locked: a worker that got no lock would hold up nobody.
LOCKS = {"lock_queue", "try_lock_keys"}


def failpoints(folder: Path) -> Callable[[str], None]:
    """`hit(name)` kills the process if a file of that name lies in the folder, once; or freezes it, if that says so."""

    def hit(name: str) -> None:
        armed = folder / name
        try:
            end = signal.SIGSTOP if armed.read_text() == FREEZE else signal.SIGKILL
            armed.unlink()
        except FileNotFoundError:
            return  # it is not armed, or another worker was first
        os.kill(os.getpid(), end)

    return hit


def break_transactions(folder: Path) -> None:
    """Failpoints inside the commit of a step's own transaction."""
    hit = failpoints(folder)
    drive, drive_sync, close = transaction.drive, transaction.drive_sync, StepTransaction.close

    async def driven(*args: Any) -> Any:
        hit("before the outcome")
        rows = await drive(*args)
        hit("before the commit")
        return rows

    def driven_sync(*args: Any) -> Any:
        hit("before the outcome")
        rows = drive_sync(*args)
        hit("before the commit")
        return rows

    async def closed(self: StepTransaction, *, committed: bool = False) -> None:
        hit("after the commit")
        await close(self, committed=committed)

    transaction.drive, transaction.drive_sync = driven, driven_sync  # type: ignore[assignment]
    StepTransaction.close = closed  # type: ignore[method-assign]


def break_statements(folder: Path) -> None:
    """A failpoint after each of Kairos's own statements: inside its transaction, if it is in one."""
    hit, on = failpoints(folder), AsyncStore.on

    async def ran(self: AsyncStore, connection: Any, query: Query) -> Any:
        answer = asyncio.ensure_future(on(self, connection, query))
        await asyncio.sleep(0)  # the statement is sent, and nothing of its answer is read
        hit(f"during {query.name}")
        rows = await answer
        if rows or query.name not in LOCKS:
            hit(f"after {query.name}")
        return rows

    AsyncStore.on = ran  # type: ignore[method-assign]


def main(database: str, folder: Path, settings: dict[str, Any]) -> None:
    """Work until told to stop, as `kairos worker` does."""
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ[FOLDER] = str(folder)
    configure(Format.TEXT)
    break_transactions(folder)
    break_statements(folder)

    async def work() -> int:
        stop = Stop()
        stop.listen()
        app = build(database, folder)
        ahead = settings.pop("ahead", None)
        async with app, app.worker(**settings) as worker:
            if ahead is not None:
                worker.picker.pace.within = lambda _: ahead  # as if it had been quick so far
            Journal(folder / "journal").write("ready", worker=worker.name)
            await stop.wait()
        return stop.code

    code = exit_if_stuck(run(work()))
    sys.stdout.flush()
    os._exit(code)  # without the clean-up of the fork server's own process
