"""Steps that run in processes. Imported as a module by tests, and run as a script or with -m by others."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from kairos import Backoff, Context, Done, Kairos, Next, step

app = Kairos(os.environ.get("KAIROS_DATABASE_URL", "postgresql:///unused"))


class OddError(Exception):
    def __init__(self, left: str, right: str) -> None:
        super().__init__(f"{left} and {right}")


@app.job(runs_in="process")
def square(ctx: Context, number: int) -> dict[str, Any]:
    return {"square": number * number, "pid": os.getpid(), "attempt": ctx.attempt}


@app.job(runs_in="process")
def surroundings() -> dict[str, str]:
    return dict(os.environ)


@app.job(runs_in="process")
def die(how: str) -> None:
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "segfault":
        ctypes.string_at(0)
    os._exit(3)


@app.job(runs_in="process")
def fail(how: str) -> Any:
    errors: dict[str, BaseException] = {
        "value": ValueError("wrong"),
        "odd": OddError("one", "two"),
        "exit": SystemExit(4),
        "interrupt": KeyboardInterrupt(),
        "stop iteration": StopIteration(),
        "cancelled": asyncio.CancelledError(),
        "memory": MemoryError(),
    }
    raise errors[how]


@app.job(runs_in="process", retry=Backoff(attempts=1))
def tell(ctx: Context, how: str) -> None:
    for done in (1, 2, 3):  # faster than they are passed on: all but the first stay here until the end
        ctx.progress(done, 4)
    raise {"value": ValueError("no"), "odd": OddError("one", "two")}[how]


@app.job(runs_in="process")
def answer(how: str) -> Any:
    return {"lambda": lambda: 1, "nan": float("nan"), "large": "x" * 3_000_000, "none": None}[how]


@app.job(runs_in="process", timeout=0.3)
def late(path: str) -> None:
    sleep(path)


@app.job(runs_in="process")
def sleep(path: str) -> None:
    Path(path).write_text(str(os.getpid()))
    time.sleep(60)


@app.job(runs_in="process")
def chat() -> str:
    print("what a step prints is not its answer", flush=True)
    shell = subprocess.run(["/bin/cat"], capture_output=True, text=True, check=True)
    return sys.stdin.read() + shell.stdout + "quiet"


class Sum(BaseModel):
    numbers: list[int]
    total: int = 0


@app.machine("sum")
class Adder:
    State = Sum

    @step(initial=True, runs_in="process", to=["tell"])
    def add(self, ctx: Context[Sum]) -> Any:
        ctx.progress(1, 2)
        ctx.spawn(square.call(number=ctx.state.total))
        bonus = ctx.take("bonus")
        total = sum(ctx.state.numbers) + (bonus.payload["extra"] if bonus else 0)
        return Next("tell", ctx.state.model_copy(update={"total": total}))

    @step(to=[])
    async def tell(self, ctx: Context[Sum]) -> Any:
        return Done({"total": ctx.state.total, "pid": os.getpid()})


async def main() -> None:
    async with app, app.worker(poll=0.1):
        job = await Adder.enqueue(numbers=[1, 2, 3])
        print(
            (await app.result(job.id, timeout=30))["total"],
            await app.result((await chat.enqueue()).id, timeout=30),
        )


if __name__ == "__main__":
    asyncio.run(main())
