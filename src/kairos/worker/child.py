"""The process a CPU-bound step runs in: reads a request, runs the step, writes the answer, waits for the next."""

from __future__ import annotations

import ctypes
import importlib
import os
import pickle
import runpy
import signal
import struct
import sys
import threading
import time
from contextlib import nullcontext
from functools import cache
from types import ModuleType
from typing import IO, Any

from kairos.action import Action
from kairos.errors import StepError
from kairos.machine.context import Context, Signal, tell
from kairos.machine.definition import Machine, Step
from kairos.worker.capture import captured
from kairos.worker.processes import MAIN

_LENGTH = struct.Struct("!I")
_PR_SET_PDEATHSIG = 1


def main() -> None:
    _die_with_parent()
    # What the step reads and prints, and what programs that it starts do, must not get between us and the worker.
    requests, answers = os.fdopen(os.dup(0), "rb"), Answers(os.fdopen(os.dup(1), "wb"))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    while (request := _read(requests)) is not None:
        answers.write(_encode(_run(request, answers)))


class Answers:
    """What the worker hears from here; as a step's runtime, how far it has come."""

    def __init__(self, stream: IO[bytes], pause: float = 0.2) -> None:
        self._stream = stream
        self._pause = pause
        self._told_at = 0.0
        self._lock = threading.Lock()

    def write(self, body: bytes) -> None:
        with self._lock:
            self._stream.write(_LENGTH.pack(len(body)) + body)
            self._stream.flush()

    def progress(self, ctx: Context[Any], done: int, total: int | None) -> None:
        if time.monotonic() - self._told_at >= self._pause or done == total:
            self._told_at = time.monotonic()
            self.write(pickle.dumps({"progress": (done, total), "of": (ctx.id, ctx.lease)}))

    def say(self, ctx: Context[Any], level: str, line: str, fields: str | None, stream: str | None) -> None:
        # With whose it is: a thread that a step left behind may speak while the next one runs.
        self.write(pickle.dumps({"say": (level, line, fields, stream), "of": (ctx.id, ctx.lease)}))

    def transaction(self) -> Any:
        raise RuntimeError("ctx.transaction() is the worker's: a step in a process of its own has none.")


def _run(request: dict[str, Any], answers: Answers) -> dict[str, Any]:
    ctx: Context[Any] | None = None
    try:
        machine = _machine(tuple(request["path"]), request["module"], request["main"], request["action"])
        step = machine.steps[request["step"]]
        ctx = Context(
            **request["context"],
            step=step.name,
            state=machine.load(request["state"]),
            inbox=tuple(Signal(*each) for each in request["inbox"]),
            runtime=answers,
            hide=request["hide"],
        )
        value = _call(machine, step, ctx)
    except BaseException as error:  # noqa: BLE001 (it travels back to the worker, whatever it is)
        told = None if ctx is None else ctx.told
        return {"value": None, "error": error, "taken": [], "spawned": [], "told": told}
    return {"value": value, "error": None, "taken": ctx.taken, "spawned": ctx.spawned, "told": ctx.told}


def _call(machine: Machine, step: Step, ctx: Context[Any]) -> Any:
    arguments = dict(ctx.state) if machine.plain else {}
    keep = captured(lambda stream, line: tell(ctx, "info", line, stream=stream))
    with keep if step.capture else nullcontext():
        return step.call(*((ctx,) if machine.takes_context else ()), **arguments)


@cache
def _machine(path: tuple[str, ...], module: str, main: str | None, action: tuple[str, int]) -> Machine:
    """The machine by its name, from the module that declares it."""
    sys.path[:] = path
    found = importlib.import_module(module) if main is None else _load_main(main)
    for value in vars(found).values():
        if isinstance(value, Action) and (value.machine.name, value.machine.version) == action:
            return value.machine
    raise StepError(f"Module {module!r} has no action {action[0]!r} version {action[1]} at its top level.")


@cache
def _load_main(path: str) -> ModuleType:
    """The program's main file as a module, so that what it defines travels to the worker and back by name."""
    module = ModuleType(MAIN)
    vars(module).update(runpy.run_path(path, run_name=MAIN))
    sys.modules[MAIN] = sys.modules["__main__"] = module
    return module


def _encode(answer: dict[str, Any]) -> bytes:
    try:
        body = pickle.dumps(answer)
        pickle.loads(body)  # noqa: S301 (our own bytes: some exceptions pickle but do not come back)
    except Exception as error:  # noqa: BLE001 (user values may refuse in any way)
        said = answer["error"] if answer["error"] is not None else error
        plain = StepError(f"{type(said).__name__}: {_words(said)}")
        body = pickle.dumps(
            {"value": None, "error": plain, "taken": [], "spawned": [], "told": answer["told"]}
        )
    return body


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 (a user's __str__ may do anything)
        return "(its message cannot be read)"


def _read(stream: IO[bytes]) -> dict[str, Any] | None:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    request: dict[str, Any] = pickle.loads(stream.read(_LENGTH.unpack(head)[0]))  # noqa: S301 (from our worker)
    return request


def _die_with_parent() -> None:
    """A worker killed outright must not leave its steps running; a signal to the whole group is for the worker.

    Handlers and not SIG_IGN, which programs that a step starts would inherit.
    """
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: None)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
