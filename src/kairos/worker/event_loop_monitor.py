"""Name the `async def` step that blocks the event loop: it stalls every other step of its worker."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Generator
from typing import Any

from kairos.logger import Logger
from kairos.machine.context import Context, write_log

log = Logger("kairos.worker")

BLOCKED_AFTER = 0.25  # seconds
_SAMPLE_INTERVAL = 0.1  # seconds
_IDLE_SAMPLES = 20  # after this many samples without a step the thread sleeps until the next step
_ADVICE = "await something that does not block, or make it a plain def, which runs in a thread"


class EventLoopMonitor:
    """Measure how long each step runs between two awaits; a thread samples the stack of one that takes long."""

    def __init__(self) -> None:
        self._ctx: Context[Any] | None = None
        self._since = 0.0
        self._runs = 0
        self._reported: Context[Any] | None = None
        self._asleep = True
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop_thread = 0
        self._closed = False

    def watch(self, step: Awaitable[Any], ctx: Context[Any]) -> _MonitoredStep:
        """Return the step as an awaitable that is measured."""
        if self._thread is None:
            self._loop_thread = threading.get_ident()
            self._thread = threading.Thread(
                target=self._sample, name="kairos-event-loop-monitor", daemon=True
            )
            self._thread.start()
        return _MonitoredStep(self, step, ctx)

    def close(self) -> None:
        self._closed = True
        self._wake.set()

    def enter(self, ctx: Context[Any]) -> None:
        self._since = time.monotonic()
        self._ctx = ctx
        self._runs += 1
        if self._asleep:
            self._asleep = False
            self._wake.set()

    def leave(self) -> None:
        ctx, self._ctx = self._ctx, None
        # Checked here too: the sampling thread does not run while the step holds the GIL.
        if ctx is not None and time.monotonic() - self._since > BLOCKED_AFTER:
            self._report(ctx, None)

    def _sample(self) -> None:
        while not self._closed:
            self._wake.wait()
            self._wake.clear()
            idle = 0
            while idle < _IDLE_SAMPLES and not self._closed:
                seen = self._runs
                time.sleep(_SAMPLE_INTERVAL)
                ctx, since = self._ctx, self._since
                idle = idle + 1 if ctx is None and seen == self._runs else 0
                if ctx is not None and time.monotonic() - since > BLOCKED_AFTER:
                    self._report(ctx, sys._current_frames().get(self._loop_thread))
            seen, self._asleep = self._runs, True
            if self._ctx is not None:  # a step started before `_asleep` was set
                self._asleep = False
                self._wake.set()

    def _report(self, ctx: Context[Any], frame: Any) -> None:
        if self._reported is ctx:
            return
        self._reported = ctx
        fields: dict[str, Any] = {"job": ctx.id, "action": ctx.action, "step": ctx.step}
        if frame is not None and (stack := traceback.extract_stack(frame)):
            fields["at"] = f"{stack[-1].filename}:{stack[-1].lineno} in {stack[-1].name}"
        # First in the job's log: its lease fences the line, and the step may end at any time.
        write_log(ctx, "warning", f"Step {ctx.step!r} blocked the event loop of its worker: {_ADVICE}.")
        log.warning(f"a step blocks the event loop: {_ADVICE}", **fields)


class _MonitoredStep:
    """An awaitable that calls `enter` and `leave` around each run of the coroutine between two awaits."""

    __slots__ = ("_ctx", "_monitor", "_step")

    def __init__(self, monitor: EventLoopMonitor, step: Awaitable[Any], ctx: Context[Any]) -> None:
        self._monitor = monitor
        self._step = step
        self._ctx = ctx

    def __await__(self) -> Generator[Any, Any, Any]:
        step: Any = self._step.__await__()
        value: Any = None
        error: BaseException | None = None
        while True:
            self._monitor.enter(self._ctx)
            try:
                waits_for = step.send(value) if error is None else step.throw(error)
            except StopIteration as end:
                return end.value
            finally:
                self._monitor.leave()
            try:
                value, error = (yield waits_for), None
            except BaseException as thrown:  # noqa: BLE001 (every exception is passed on to the step)
                value, error = None, thrown
