"""The child process of CPU-bound steps: it reads a request, runs the step, writes the result, and repeats."""

from __future__ import annotations

import ctypes
import importlib
import os
import pickle
import runpy
import signal
import sys
import threading
import time
from contextlib import nullcontext
from functools import cache
from types import ModuleType
from typing import IO, Any

from kairos.action import Action
from kairos.errors import StepError
from kairos.machine.context import Context, Runtime, Signal, write_log
from kairos.machine.definition import Machine, Step
from kairos.machine.error_frame import own_frame
from kairos.worker import step_logging
from kairos.worker.pickle_pipe import framed, receive_sync
from kairos.worker.process_pool import MAIN
from kairos.worker.settle import error_text
from kairos.worker.stdout_capture import capture_output
from kairos.worker.step_logging import capture_logging

_PR_SET_PDEATHSIG = 1
# Seconds between two reports of progress.
_PAUSE = 0.2


def main() -> None:
    die_with_parent()
    step_logging.install()
    # The step, and programs that it starts, must not read or write the pipes to the worker.
    requests, answers = os.fdopen(os.dup(0), "rb"), WorkerPipe(os.fdopen(os.dup(1), "wb"))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    while (request := receive_sync(requests)) is not None:
        answers.write(encode(_run(request, answers)))


class WorkerPipe:
    """Write messages to the worker; as the step's runtime, also progress and log lines."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._reported_at = 0.0
        self._lock = threading.Lock()

    def write(self, body: bytes) -> None:
        with self._lock:
            self._stream.write(framed(body))
            self._stream.flush()

    def progress(self, ctx: Context[Any], done: int, total: int | None) -> None:
        if time.monotonic() - self._reported_at >= _PAUSE or done == total:
            self._reported_at = time.monotonic()
            self.write(pickle.dumps({"progress": (done, total), "of": (ctx.id, ctx.lease)}))

    def write_log(
        self, ctx: Context[Any], level: str, line: str, fields: str | None, stream: str | None
    ) -> None:
        # Names the job: a thread that a step left behind may log while the next step runs.
        self.write(pickle.dumps({"log": (level, line, fields, stream), "of": (ctx.id, ctx.lease)}))

    def transaction(self, ctx: Context[Any]) -> Any:
        raise RuntimeError("ctx.transaction() is the worker's: a step in a process of its own has none.")


def _run(request: dict[str, Any], answers: WorkerPipe) -> dict[str, Any]:
    try:
        machine, step, ctx = load(request, answers)
    except BaseException as error:  # noqa: BLE001 (every error is sent to the worker)
        return failed(error, None, own_frame(error))
    return run_step(machine, step, ctx)


def load(request: dict[str, Any], runtime: Runtime) -> tuple[Machine, Step, Context[Any]]:
    """Return the step that a request names, and the context to run it with."""
    machine = _machine(tuple(request["path"]), request["module"], request["main"], request["action"])
    step = machine.steps[request["step"]]
    ctx = Context(
        **request["context"],
        step=step.name,
        state=machine.load(request["state"]),
        inbox=tuple(Signal(*each) for each in request["inbox"]),
        runtime=runtime,
        hide=request["hide"],
    )
    return machine, step, ctx


def run_step(machine: Machine, step: Step, ctx: Context[Any]) -> dict[str, Any]:
    """Run a step and return the answer to the worker: its value or its error, and what it did with its context."""
    try:
        value = _call(machine, step, ctx)
    except BaseException as error:  # noqa: BLE001 (every error is sent to the worker)
        return failed(error, ctx.reported, own_frame(error))
    return {
        "value": value,
        "error": None,
        "taken": ctx.taken,
        "spawned": ctx.spawned,
        "reported": ctx.reported,
    }


def failed(error: BaseException, reported: str | None, frame: Any = None) -> dict[str, Any]:
    """Return the answer for a step that failed: its error, its last progress, and the frame that raised the error."""
    return {"value": None, "error": error, "taken": [], "spawned": [], "reported": reported, "frame": frame}


def _call(machine: Machine, step: Step, ctx: Context[Any]) -> Any:
    arguments = dict(ctx.state) if machine.plain else {}
    keep = capture_output(lambda stream, line: write_log(ctx, "info", line, stream=stream))
    with capture_logging(ctx), keep if step.capture else nullcontext():
        return step.call(*((ctx,) if machine.takes_context else ()), **arguments)


@cache
def _machine(path: tuple[str, ...], module: str, main: str | None, action: tuple[str, int]) -> Machine:
    """Return a machine by name, from the module that declares it."""
    sys.path[:] = path or sys.path
    found = importlib.import_module(module) if main is None else _load_main(main)
    for value in vars(found).values():
        if isinstance(value, Action) and (value.machine.name, value.machine.version) == action:
            return value.machine
    raise StepError(f"Module {module!r} has no action {action[0]!r} version {action[1]} at its top level.")


@cache
def _load_main(path: str) -> ModuleType:
    """Load the program's main file as a module, so that its classes can be pickled to the worker and back."""
    module = ModuleType(MAIN)
    vars(module).update(runpy.run_path(path, run_name=MAIN))
    sys.modules[MAIN] = sys.modules["__main__"] = module
    return module


def encode(answer: dict[str, Any]) -> bytes:
    """Pickle an answer; what cannot be pickled becomes a `StepError` that names it."""
    try:
        body = pickle.dumps(answer)
        pickle.loads(body)  # noqa: S301 (our own bytes: some exceptions pickle but do not come back)
    except Exception as error:  # noqa: BLE001 (user values may refuse in any way)
        cause = answer["error"] if answer["error"] is not None else error
        body = pickle.dumps(failed(StepError(error_text(cause)), answer["reported"], answer.get("frame")))
    return body


def die_with_parent() -> None:
    """End this process when the worker dies, and ignore signals to the process group, which the worker handles.

    The signals get handlers instead of SIG_IGN, which programs that a step starts would inherit.
    """
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: None)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
