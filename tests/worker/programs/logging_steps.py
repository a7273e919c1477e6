"""Steps that talk: as a module for steps in processes, and as a program that is a worker to be killed."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from typing import Any

from kairos import Context, Kairos
from kairos.cli.worker_process import Stop, run

app = Kairos(os.environ.get("KAIROS_DATABASE_URL", "postgresql:///unused"))


@app.job(runs_in="process", capture=True, redact=["token"])
def compute(ctx: Context, token: str) -> None:
    ctx.log.info("computing", token=token, pid=os.getpid())
    print("half\tway")
    print("a warning", file=sys.stderr)
    ctx.log.bind(part=2).warning("slow")
    os.write(1, b"past Python: not captured\n")


@app.job(runs_in="process")
def quiet(ctx: Context) -> None:
    print("not kept")
    ctx.log.info("kept")


@app.job(runs_in="process")
def broken() -> None:
    raise ValueError("in the other process")


_left_behind: list[tuple[threading.Event, threading.Thread]] = []


@app.job(runs_in="process")
def leave_behind(ctx: Context) -> int:
    """End, but leave a thread that speaks once it is met."""
    met = threading.Event()

    def speak() -> None:
        met.wait(30)
        ctx.log.info("from a step that is over")
        ctx.progress(99, 99)

    thread = threading.Thread(target=speak, daemon=True)
    thread.start()
    _left_behind.append((met, thread))
    return os.getpid()


@app.job(runs_in="process")
def meet(ctx: Context) -> int:
    met, thread = _left_behind.pop()
    met.set()
    thread.join(30)
    ctx.log.info("mine")
    return os.getpid()


@app.job
async def talk(ctx: Context) -> str:
    """Say numbers for ever, but only the first time."""
    if ctx.attempt:
        ctx.log.info("once more")
        return "done"
    number = 0
    while True:
        ctx.log.info(str(number))
        number += 1
        await asyncio.sleep(0.005)


@app.job(runs_in="thread")
def mutter(ctx: Context) -> None:
    """The same in a thread, which nobody can stop."""
    number = 0
    while not ctx.attempt:
        ctx.log.info(str(number))
        number += 1
        time.sleep(0.005)


async def main(settings: dict[str, Any]) -> None:
    stop = Stop()
    stop.listen()
    async with app, app.worker(**settings):
        await stop.wait()


if __name__ == "__main__":
    run(main({"poll": 0.1, "grace": 0, "lease": float(sys.argv[1])}))
