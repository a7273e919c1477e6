"""A terminal for tests: commands in this process where that is enough, and in processes of their own."""

from __future__ import annotations

import io
import json
import logging
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import structlog

from kairos import Job, Kairos
from kairos.cli import run
from kairos.testing import drain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pytest

KAIROS = Path(sys.executable).parent / "kairos"
TIMEOUT = 120.0

# Small enough to read, with one machine of every kind that the commands tell apart.
SHOP = """
import asyncio, os, time
from pydantic import BaseModel
from kairos import Await, Backoff, Context, Done, Kairos, Next, step

app = Kairos()

@app.job(tags=["small"], redact=["token"])
async def greet(name: str, times: int = 1, token: str = "") -> str:
    return f"Hello, {name}!" * times

@app.job(retry=Backoff(attempts=1))
async def fail(why: str = "no reason"):
    raise ValueError(why)

@app.job(queue="slow")
async def nap(seconds: float) -> int:
    await asyncio.sleep(seconds)
    return os.getpid()

@app.job(queue="slow")
def hold(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()

@app.job(queue="slow")
async def stick(seconds: float):
    time.sleep(seconds)  # blocks the event loop of its worker

class OrderState(BaseModel):
    order_id: int

@app.machine("order", ttl="1h", queue="orders")
class Order:
    State = OrderState

    @step(initial=True, to=["ship"])
    async def charge(self, ctx):
        return Next("ship")

    @step
    async def ship(self, ctx):
        if (parcel := ctx.take("delivered")) is None:
            return Await("delivered")
        return Done(parcel.payload)
"""


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on standard output; the command must have succeeded."""
        assert self.code == 0, self.err
        return json.loads(self.out)


class Terminal:
    """Runs commands in this process, each with the environment as it was before."""

    def __init__(self, capture: pytest.CaptureFixture[str], environment: Mapping[str, str]) -> None:
        self._capture = capture
        self.environment = dict(environment)

    def __call__(self, *arguments: object, stdin: str = "") -> Said:
        self._capture.readouterr()
        path = list(sys.path)
        try:
            with (
                patch.dict(os.environ, self.environment),
                patch.object(sys, "stdin", io.StringIO(stdin)),
                patch.object(logging.root, "handlers", list(logging.root.handlers)),
                patch.object(logging.root, "level", logging.root.level),
            ):
                code = run([str(each) for each in arguments])
        finally:
            structlog.reset_defaults()
            sys.path[:] = path
            for name, module in list(sys.modules.items()):
                if str(getattr(module, "__file__", None)).startswith(f"{Path.cwd()}/"):
                    del sys.modules[name]  # the next command loads its app afresh
        return Said(code, *self._capture.readouterr())


class Process:
    """A command in a process of its own, at the head of a group as in a real terminal."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str], *arguments: object, program: Path
    ) -> None:
        self._said = folder / f"said-{time.monotonic_ns()}"
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [program, *(str(each) for each in arguments)],
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exited(self) -> bool:
        return self._process.poll() is not None

    @property
    def said(self) -> str:
        return self._said.read_text()

    def says(self, text: str, times: int = 1) -> None:
        """Wait until it has printed the text so many times."""
        until(lambda: self.said.count(text) >= times or self.exited, self.said)
        assert self.said.count(text) >= times, self.said

    def signal(self, number: signal.Signals, *, group: bool = False) -> None:
        (os.killpg if group else os.kill)(self.pid, number)

    def end(self) -> int:
        """Wait for its end; answers its exit code."""
        return self._process.wait(TIMEOUT)

    def kill(self) -> None:
        if self._process.poll() is None:
            self.signal(signal.SIGKILL, group=True)
            self._process.wait()


def until(fact: Callable[[], Any], what: object = "the fact") -> Any:
    """Ask again and again until the answer is true; a fact that never comes fails the test."""
    deadline = time.monotonic() + TIMEOUT
    while not (answer := fact()):
        assert time.monotonic() < deadline, f"{what} never came"
        time.sleep(0.02)
    return answer


def children(pid: int) -> list[int]:
    """The processes whose parent it is, and that are not about to vanish."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid and state != "Z":
            found.append(int(stat.parent.name))
    return found


async def ran(app: Kairos, action: str, **arguments: Any) -> Job:
    """A job that was enqueued and run to where it goes by itself."""
    async with app:
        job: Job = await app.action(action).enqueue(**arguments)
        await drain(app)
        return await app.get(job.id)
