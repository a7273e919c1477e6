"""Steps that run on clusters, declared for each kind: imported by the tests and by the nodes."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from kairos import Await, Backoff, Context, Done, Kairos, Next, step

app = Kairos("postgresql:///unused")
KINDS = ("ray", "dask")


def square(ctx: Context, number: int) -> dict[str, Any]:
    ctx.log.info("squaring", number=number)
    ctx.progress(1, 2)
    print("printed")
    return {"square": number * number, "pid": os.getpid(), "attempt": ctx.attempt}


def wrong(ctx: Context) -> int:
    if ctx.attempt == 0:
        raise KeyError("first")
    return ctx.attempt


def talk_then_wait(ctx: Context, folder: str) -> str:
    """Say something, then wait until a file appears."""
    ctx.progress(3, 9)
    ctx.log.info("waiting")
    note(folder, "begun")
    while not Path(folder, "go").exists():
        time.sleep(0.02)
        ctx.checkpoint()
    return "went"


def recite(ctx: Context, lines: int) -> None:
    for number in range(lines):
        ctx.log.info(str(number))


def hang(folder: str) -> None:
    note(folder, "begun")
    while not Path(folder, "go").exists():
        time.sleep(0.02)


def hold(folder: str) -> None:
    while not Path(folder, "go").exists():
        time.sleep(0.02)


def die(folder: str, times: int) -> int:
    """Kill the process it runs in, the first `times` times."""
    runs = note(folder, "run")
    if runs <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return runs


def large(size: int) -> str:
    return "x" * size


def complain(size: int) -> None:
    raise ValueError("y" * size)


def unreadable() -> Any:
    return threading.Lock()


def transact(ctx: Context) -> None:
    ctx.transaction()


def brief(number: int) -> int:
    return number


def note(folder: str, kind: str) -> int:
    """Leave a file with the process id, and return how many there are of this kind."""
    Path(folder, f"{kind}-{os.getpid()}-{time.monotonic_ns()}").touch()
    return len(list(Path(folder).glob(f"{kind}-*")))


def pids(folder: str | Path, kind: str = "begun") -> list[int]:
    return [int(each.name.split("-")[1]) for each in Path(folder).glob(f"{kind}-*")]


class State(BaseModel):
    items: list[int] = []


def declare(kind: str) -> None:
    module = vars(sys.modules[__name__])
    for function in (
        square,
        talk_then_wait,
        recite,
        hang,
        hold,
        die,
        large,
        complain,
        unreadable,
        transact,
        brief,
    ):
        name = f"{function.__name__}_{kind}"
        timeout = "2s" if function is hang else None
        capture = function is square
        module[name] = app.job(name=name, runs_in=kind, timeout=timeout, capture=capture)(function)
    policy = Backoff(attempts=2, base=0.05)
    module[f"wrong_{kind}"] = app.job(name=f"wrong_{kind}", runs_in=kind, retry=policy)(wrong)

    class Collect:
        State = State

        @step(initial=True, runs_in=kind)
        def gather(self, ctx: Context[State]) -> Any:
            if (item := ctx.take("item")) is None:
                return Await("item")
            ctx.spawn(module[f"brief_{kind}"].call(number=item.payload["n"]))
            return Next("end", State(items=[item.payload["n"]]))

        @step
        async def end(self, ctx: Context[State]) -> Any:
            return Done({"items": ctx.state.items})

    Collect.gather.__qualname__ = "Collect.gather"  # made in a function here, at the top level elsewhere
    module[f"collect_{kind}"] = app.machine(f"collect_{kind}", version=1)(Collect)


for each in KINDS:
    declare(each)
