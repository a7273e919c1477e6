"""The part that runs on a node of the cluster: load a step, run it, and return the answer in an envelope.

`run` never raises: the envelope carries the step's error, so an exception from a task is an error of the cluster.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import pickle
import runpy
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from kairos.errors import BadValue, StepError
from kairos.machine.context import Context
from kairos.worker import step_logging
from kairos.worker.process_pool import MAIN
from kairos.worker.settle import error_text
from kairos.worker.step_process import encode, failed, load, run_step

# An answer holds a result of at most 1 MiB as JSON, children and exceptions: more than this is a mistake, and would be
# carried through the memory of the cluster and of the worker only to be refused.
MOST_BYTES = 16 << 20
# Characters of a message that come back in place of an error that is larger than that.
_MOST_TEXT = 100_000
# Progress and lines are sent in batches: after `_EVERY` seconds, or as soon as there are `BATCH` of them.
_EVERY = 0.2
BATCH = 500
# How many full batches of a step may be on their way: the worker takes them as fast as it can store the lines. The step
# waits for that in its next call, at most `PATIENCE` seconds each time.
MOST_UNTAKEN = 4
PATIENCE = 10.0

# Takes a batch, and whether it is full: then it waits for the worker as said above.
Send = Callable[[bytes, bool], None]

_running: dict[str, Context[Any]] = {}  # by token: the steps that this process runs
_loading = threading.Lock()  # held while a program is loaded


def versions() -> dict[str, str]:
    """Return the versions that the worker and the node must have in common."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"Python": python, "kairos-scheduler": importlib.metadata.version("kairos-scheduler")}


def run(token: str, body: bytes, send: Send) -> bytes:
    """Run the step of a request; `send` takes batches of progress and log lines to the worker."""
    request: dict[str, Any] = pickle.loads(body)  # noqa: S301 (from the worker, over the cluster's own transport)
    messages = Messages(token, send)
    try:
        if differs := _difference(request.pop("versions")):
            raise RuntimeError(differs)
        _find_code(request)
        step_logging.install()
        machine, step, ctx = load(request, messages)
    except BaseException as error:  # noqa: BLE001 (the worker loaded the same step, so this node has other code)
        return _envelope(token, unfit=error_text(error))
    _running[token] = ctx
    try:
        done = run_step(machine, step, ctx)
    finally:
        _running.pop(token, None)
    answer = encode(done)
    if len(answer) > MOST_BYTES and done["error"] is not None:
        answer = encode({**done, "error": StepError(error_text(done["error"])[:_MOST_TEXT])})
    if len(answer) > MOST_BYTES:
        said = (
            f"What step {step.name!r} of {machine.name!r} answered has {len(answer)} bytes, and at most {MOST_BYTES} "
            "come back from a cluster: store it where both can read it, and return its name."
        )
        answer = encode(failed(BadValue(said, field="result"), ctx.reported))
    rest, sent = messages.close()
    return _envelope(token, answer=answer, rest=rest, sent=sent)


def ask_to_stop(token: str) -> bool:
    """Set `ctx.cancel_requested` of a step that runs in this process."""
    ctx = _running.get(token)
    if ctx is not None:
        ctx.cancel_requested = True
    return ctx is not None


class Messages:
    """Collect progress and log lines of one step, and send them in batches; the rest goes with the answer."""

    def __init__(self, token: str, send: Send) -> None:
        self._token = token
        self._send = send
        self._kept: list[tuple[str, tuple[Any, ...]]] = []
        self._sent = 0  # log lines
        self._timer: threading.Timer | None = None
        self._over = False
        self._lock = threading.Lock()

    def progress(self, ctx: Context[Any], done: int, total: int | None) -> None:
        self._add("progress", (done, total))

    def write_log(
        self, ctx: Context[Any], level: str, line: str, fields: str | None, stream: str | None
    ) -> None:
        self._add("log", (level, line, fields, stream))

    def transaction(self, ctx: Context[Any]) -> Any:
        raise RuntimeError("ctx.transaction() is the worker's: a step on a cluster has none.")

    def close(self) -> tuple[list[tuple[str, tuple[Any, ...]]], int]:
        """Return the messages that were not sent, and how many lines were sent; drop whatever is added later."""
        with self._lock:
            self._over = True
            if self._timer is not None:
                self._timer.cancel()
            return self._kept, self._sent

    def _add(self, kind: str, values: tuple[Any, ...]) -> None:
        with self._lock:
            if self._over:
                return
            if kind == "progress":  # only the latest counts
                self._kept = [each for each in self._kept if each[0] != kind]
            self._kept.append((kind, values))
            full = len(self._kept) >= BATCH
            if self._timer is None and not full:
                self._timer = threading.Timer(_EVERY, self._flush)
                self._timer.daemon = True
                self._timer.start()
        if full:
            self._flush()

    def _flush(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._over or not self._kept:
                return
            with suppress(Exception):  # the batch stays, and goes with the next one or with the answer
                self._send(pickle.dumps({"of": self._token, "batch": self._kept}), len(self._kept) >= BATCH)
                self._sent += sum(kind == "log" for kind, _ in self._kept)
                self._kept = []


def _difference(theirs: dict[str, str]) -> str | None:
    """Say which version of the worker this node lacks, if one does."""
    mine = versions()
    for name, version in theirs.items():
        if mine.get(name) != version:
            return (
                f"the worker has {name} {version}, and this node {mine.get(name)}: install the same on both"
            )
    return None


def _find_code(request: dict[str, Any]) -> None:
    """Make the worker's module importable where its folders are here too; a program is loaded from its source."""
    for folder in request["path"]:
        if folder and folder not in sys.path and Path(folder).is_dir():
            sys.path.append(folder)
    request["path"] = ()
    if (main := request["main"]) is not None:
        _load_program(main, request["source"])
        request |= {"module": MAIN, "main": None}


def _load_program(path: str, source: str) -> None:
    """Load the worker's main file from its source, as the process of a step loads it from its path."""
    digest = hashlib.sha256(source.encode()).hexdigest()
    with _loading, tempfile.TemporaryDirectory(prefix="kairos-program-") as folder:
        present = sys.modules.get(MAIN)
        if present is not None and vars(present).get("__kairos_source__") == digest:
            return
        file = Path(folder, Path(path).name)
        file.write_text(source)
        module = ModuleType(MAIN)
        vars(module).update(runpy.run_path(str(file), run_name=MAIN), __kairos_source__=digest)
        sys.modules[MAIN] = module


def _envelope(token: str, **content: Any) -> bytes:
    return pickle.dumps({"of": token, "node": socket.gethostname(), **content})
