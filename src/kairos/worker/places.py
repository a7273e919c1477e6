"""Where the code of a step runs: on the event loop, in a thread, or in a process, and for how long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context
from functools import partial
from typing import Any

from kairos import telemetry
from kairos.errors import StepTimeout
from kairos.machine.context import Context, tell
from kairos.machine.definition import Machine, Step
from kairos.worker.capture import captured
from kairos.worker.claim import Claim
from kairos.worker.processes import ProcessLanes


class Places:
    """The threads and processes of one worker, made when the first step asks for one."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._threads: ThreadPoolExecutor | None = None
        self._processes = ProcessLanes()
        self._traced = (
            telemetry.tracer() is not None
        )  # a span is found through the context, which a thread must share

    async def close(self) -> None:
        """End the processes, and let go of the threads: nothing can end those."""
        await self._processes.close()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def call(self, machine: Machine, step: Step, ctx: Context[Any], claim: Claim) -> Any:
        """What the step returns, in as much time as it is given; its own errors are raised as they are."""
        if step.timeout is None:
            return await self._place(machine, step, ctx, claim)
        try:
            async with asyncio.timeout(step.timeout.total_seconds()) as limit:
                return await self._place(machine, step, ctx, claim)
        except TimeoutError:
            if not limit.expired():
                raise
            ctx.cancel_requested = step.runs_in == "thread"  # a thread can only be told, not stopped
            raise StepTimeout(
                f"Step {step.name!r} of {machine.name!r} ran longer than {step.timeout.total_seconds():g} s."
            ) from None

    async def _place(self, machine: Machine, step: Step, ctx: Context[Any], claim: Claim) -> Any:
        if step.runs_in == "process":
            return await self._processes.run(machine, step, ctx, claim)
        arguments: dict[str, Any] = vars(ctx.state) if machine.plain else {}
        positional = (ctx,) if machine.takes_context else ()
        if step.runs_in == "async":
            if not step.capture:
                return await step.call(*positional, **arguments)
            with captured(partial(_print, ctx)):
                return await step.call(*positional, **arguments)
        return await self._in_thread(lambda: step.call(*positional, **arguments), ctx, step.capture)

    async def _in_thread(self, call: Callable[[], Any], ctx: Context[Any], capture: bool = False) -> Any:
        def run() -> tuple[Any, BaseException | None]:
            try:
                with captured(partial(_print, ctx)) if capture else nullcontext():
                    return call(), None
            except BaseException as error:  # noqa: BLE001 (a future cannot carry every exception: StopIteration hangs it)
                return None, error

        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._concurrency, thread_name_prefix="kairos-step")
        threads = self._threads
        work = threads.submit(copy_context().run, run) if self._traced else threads.submit(run)
        try:
            value, error = await asyncio.wrap_future(work)
        except asyncio.CancelledError:
            if not work.cancel():
                # It runs on with nobody waiting: the next steps get fresh threads, and it no transaction.
                threads.shutdown(wait=False)
                self._threads = None if self._threads is threads else self._threads
                if ctx.unit is not None:
                    ctx.unit.sever()
            raise
        if error is not None:
            raise error
        return value


def _print(ctx: Context[Any], stream: str, line: str) -> None:
    tell(ctx, "info", line, stream=stream)
