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
from functools import cache
from typing import IO, Any

from kairos.client import Action
from kairos.errors import StepError
from kairos.machine.context import Context, Signal
from kairos.machine.definition import Machine

_LENGTH = struct.Struct("!I")
_PR_SET_PDEATHSIG = 1


def main() -> None:
    _die_with_parent()
    # What the step prints must not get between our answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while (request := _read(sys.stdin.buffer)) is not None:
        body = _encode(_run(request))
        answers.write(_LENGTH.pack(len(body)) + body)
        answers.flush()


def _run(request: dict[str, Any]) -> dict[str, Any]:
    try:
        machine = _machine(tuple(request["path"]), request["module"], request["main"], request["action"])
        step = machine.steps[request["step"]]
        ctx: Context[Any] = Context(
            **request["context"],
            step=step.name,
            state=machine.load(request["state"]),
            inbox=tuple(Signal(*each) for each in request["inbox"]),
        )
        arguments = dict(ctx.state) if machine.plain else {}
        value = step.call(*((ctx,) if machine.takes_context else ()), **arguments)
    except BaseException as error:  # noqa: BLE001 (it travels back to the worker, whatever it is)
        return {"value": None, "error": error, "taken": [], "spawned": []}
    return {"value": value, "error": None, "taken": ctx.taken, "spawned": ctx.spawned}


@cache
def _machine(path: tuple[str, ...], module: str, main: str | None, action: tuple[str, int]) -> Machine:
    """The machine by its name, from the module that declares it."""
    sys.path[:] = path
    names = (
        vars(importlib.import_module(module))
        if main is None
        else runpy.run_path(main, run_name="__kairos_child__")
    )
    for value in names.values():
        if isinstance(value, Action) and (value.machine.name, value.machine.version) == action:
            return value.machine
    raise StepError(f"Module {module!r} has no action {action[0]!r} version {action[1]} at its top level.")


def _encode(answer: dict[str, Any]) -> bytes:
    try:
        body = pickle.dumps(answer)
        pickle.loads(body)  # noqa: S301 (our own bytes: some exceptions pickle but do not come back)
    except Exception as error:  # noqa: BLE001 (user values may refuse in any way)
        said = answer["error"] if answer["error"] is not None else error
        plain = StepError(f"{type(said).__name__}: {said}")
        body = pickle.dumps({"value": None, "error": plain, "taken": [], "spawned": []})
    return body


def _read(stream: IO[bytes]) -> dict[str, Any] | None:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    request: dict[str, Any] = pickle.loads(stream.read(_LENGTH.unpack(head)[0]))  # noqa: S301 (from our worker)
    return request


def _die_with_parent() -> None:
    """A worker killed outright must not leave its steps running."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
