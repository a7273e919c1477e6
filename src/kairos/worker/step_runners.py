"""Run the code of a step on the event loop, in a thread, in a process or on a cluster, within its timeout."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack, nullcontext
from contextvars import copy_context
from datetime import timedelta
from functools import partial
from typing import Any

from kairos import telemetry
from kairos.errors import BadOutcome, StepTimeout
from kairos.machine.context import Context, write_log
from kairos.machine.definition import CLUSTERS, Machine, Step
from kairos.machine.hooks import Hooks, StepHook
from kairos.worker.claim import Claim
from kairos.worker.clusters.pool import ClusterPool, Clusters
from kairos.worker.event_loop_monitor import EventLoopMonitor
from kairos.worker.process_pool import ProcessPool
from kairos.worker.stdout_capture import capture_output
from kairos.worker.step_logging import capture_logging


class StepRunners:
    """The threads and processes of one worker, started on first use."""

    def __init__(
        self,
        concurrency: int,
        hooks_of: Callable[[Machine], Hooks] | None = None,
        clusters: Clusters | None = None,
    ) -> None:
        self._concurrency = concurrency
        self._hooks_of = hooks_of
        self._threads: ThreadPoolExecutor | None = None
        self._processes = ProcessPool()
        self._clusters = clusters
        self._monitor = EventLoopMonitor()
        # Threads then need a copy of the context, which holds the current span.
        self._traced = telemetry.tracer() is not None

    async def close(self) -> None:
        """End the processes and abandon the threads, which cannot be ended."""
        await self._processes.close()
        if self._clusters is not None:
            await self._clusters.close()
        self._monitor.close()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def call(self, machine: Machine, step: Step, ctx: Context[Any], claim: Claim) -> Awaitable[Any]:
        """Run a step within its timeout; return its value, or raise its own error unchanged."""
        if step.timeout is not None:
            return self._within_time(step.timeout, machine, step, ctx, claim)
        if step.runs_in == "async" and not step.capture and not self._hooks(machine):
            return self._run_async(machine, step, ctx)  # the most common case, without the frames in between
        return self._run_in_hooks(machine, step, ctx, claim)

    async def _within_time(
        self, timeout: timedelta, machine: Machine, step: Step, ctx: Context[Any], claim: Claim
    ) -> Any:
        if step.runs_in in CLUSTERS:  # the time limit begins once the cluster answers
            await self._cluster(step).connect(machine, step)
        try:
            async with asyncio.timeout(timeout.total_seconds()) as limit:
                return await self._run_in_hooks(machine, step, ctx, claim)
        except TimeoutError:
            if not limit.expired():
                raise
            ctx.cancel_requested = step.runs_in == "thread"  # a thread can be asked to stop, but not stopped
            raise StepTimeout(
                f"Step {step.name!r} of {machine.name!r} ran longer than {timeout.total_seconds():g} s."
            ) from None

    def _hooks(self, machine: Machine) -> Sequence[StepHook]:
        return () if self._hooks_of is None else self._hooks_of(machine).around_step

    async def _run_in_hooks(self, machine: Machine, step: Step, ctx: Context[Any], claim: Claim) -> Any:
        hooks = self._hooks(machine)
        if not hooks:
            return await self._run(machine, step, ctx, claim)
        in_thread: list[AbstractContextManager[Any, Any]] = []
        async with AsyncExitStack() as stack:
            for each in [hook(ctx) for hook in hooks]:
                is_sync = hasattr(each, "__enter__")
                if step.runs_in == "thread" and is_sync:
                    in_thread.append(each)  # type: ignore[arg-type]
                elif hasattr(each, "__aenter__"):
                    await stack.enter_async_context(each)  # type: ignore[arg-type]
                elif is_sync:
                    stack.enter_context(each)
                else:
                    raise BadOutcome(
                        f"A hook around step {step.name!r} of {machine.name!r} made a {type(each).__name__}, "
                        "which is no context manager: mark it with @contextmanager or @asynccontextmanager."
                    )
            return await self._run(machine, step, ctx, claim, in_thread)

    async def _run(
        self,
        machine: Machine,
        step: Step,
        ctx: Context[Any],
        claim: Claim,
        around: Sequence[AbstractContextManager[Any, Any]] = (),
    ) -> Any:
        if step.runs_in == "process":
            return await self._processes.run(machine, step, ctx, claim)
        if step.runs_in in CLUSTERS:
            return await self._cluster(step).run(machine, step, ctx, claim)
        if step.runs_in == "async":
            with capture_output(partial(_print, ctx)) if step.capture else nullcontext():
                return await self._run_async(machine, step, ctx)
        arguments: dict[str, Any] = vars(ctx.state) if machine.plain else {}
        positional = (ctx,) if machine.takes_context else ()

        def call() -> Any:
            with ExitStack() as stack:
                for each in around:
                    stack.enter_context(each)
                return step.call(*positional, **arguments)

        plain = partial(step.call, *positional, **arguments)
        return await self._in_thread(call if around else plain, ctx, step.capture)

    def _cluster(self, step: Step) -> ClusterPool:
        assert self._clusters is not None
        return self._clusters.of(step.runs_in)

    async def _run_async(self, machine: Machine, step: Step, ctx: Context[Any]) -> Any:
        with capture_logging(ctx):
            if not machine.plain:
                step_run = step.call(ctx)
            elif machine.takes_context:
                step_run = step.call(ctx, **vars(ctx.state))
            else:
                step_run = step.call(**vars(ctx.state))
            return await self._monitor.watch(step_run, ctx)

    async def _in_thread(self, call: Callable[[], Any], ctx: Context[Any], capture: bool = False) -> Any:
        def run() -> tuple[Any, BaseException | None]:
            try:
                with capture_logging(ctx), capture_output(partial(_print, ctx)) if capture else nullcontext():
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
                # The abandoned thread runs on: later steps get new threads, and its transaction is rolled back.
                threads.shutdown(wait=False)
                self._threads = None if self._threads is threads else self._threads
                if ctx.step_transaction is not None:
                    ctx.step_transaction.abort()
            raise
        if error is not None:
            raise error
        return value


def _print(ctx: Context[Any], stream: str, line: str) -> None:
    write_log(ctx, "info", line, stream=stream)
