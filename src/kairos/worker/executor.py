"""Runs steps: lanes take claims from the buffer, run the user's code and hand the decision to the flusher."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import structlog

from kairos.errors import StepTimeout, UnknownStep
from kairos.machine.context import Context, Runtime
from kairos.machine.definition import Machine, Step
from kairos.machine.outcome import Stop
from kairos.machine.registry import Registry
from kairos.store.faults import REFUSED
from kairos.worker.claim import Claim
from kairos.worker.processes import ProcessLanes
from kairos.worker.settle import Settlement, cancelled, failure, release, settle

log = structlog.get_logger("kairos.worker")

# Long enough for another worker to be asked, short enough for a rolling deployment.
_UNKNOWN_ACTION_PAUSE = timedelta(seconds=10)


class Running:
    """A step under way, and how to ask it to stop."""

    __slots__ = ("claim", "ctx", "lane", "lost", "step")

    def __init__(self, claim: Claim, ctx: Context[Any], step: Step, lane: asyncio.Task[Any]) -> None:
        self.claim = claim
        self.ctx = ctx
        self.step = step
        self.lane = lane
        self.lost = False

    def stop(self) -> None:
        """Tell the step; an async one is cancelled at its next await, one in a process is ended."""
        self.ctx.cancel_requested = True
        if self.step.runs_in != "thread":
            self.lane.cancel()


class Executor:
    """At most `concurrency` steps at once. A lane is one long-lived task: no task is made per job."""

    def __init__(
        self,
        registry: Registry,
        concurrency: int,
        submit: Callable[[Settlement], None],
        commit: Callable[[Settlement, Any], Awaitable[None]],
        runtime: Runtime | None = None,
        on_death: Callable[[asyncio.Task[Any]], None] = lambda _: None,
    ) -> None:
        self._on_death = on_death
        self._registry = registry
        self._concurrency = concurrency
        self._submit = submit
        self._commit = commit
        self._runtime = runtime
        self._buffer: deque[Claim] = deque()
        self._lanes: set[asyncio.Task[None]] = set()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._threads: ThreadPoolExecutor | None = None
        self._processes = ProcessLanes()
        self.running: dict[int, Running] = {}
        self.finished = 0
        self.committing = 0
        self.stopping = False

    @property
    def load(self) -> int:
        return len(self.running) + len(self._buffer)

    def load_of(self, queue: str) -> int:
        running = sum(1 for each in self.running.values() if each.claim.queue == queue)
        return running + sum(1 for claim in self._buffer if claim.queue == queue)

    def add(self, claim: Claim, *, first: bool = False) -> None:
        """Queue a claim for the next free lane."""
        if first:
            self._buffer.appendleft(claim)
        else:
            self._buffer.append(claim)
        while self._idle:
            waiter = self._idle.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        if len(self._lanes) < self._concurrency:
            lane = asyncio.get_running_loop().create_task(self._lane())
            self._lanes.add(lane)
            lane.add_done_callback(self._lanes.discard)
            lane.add_done_callback(self._on_death)

    def take_back(self) -> list[Claim]:
        """The claims that no lane has begun."""
        claims = list(self._buffer)
        self._buffer.clear()
        return claims

    async def finish(self, grace: float) -> None:
        """Let what runs come to its end; after `grace` seconds, interrupt it."""
        self.stopping = True
        deadline = asyncio.get_running_loop().time() + grace
        while self.running and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
        for running in list(self.running.values()):
            running.lane.cancel()
        while self.running or self.committing:
            await asyncio.sleep(0.01)
        for lane in list(self._lanes):
            lane.cancel()
        await self._processes.close()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def _lane(self) -> None:
        lane = asyncio.current_task()
        assert lane is not None
        while True:
            while not self._buffer:
                waiter = asyncio.get_running_loop().create_future()
                self._idle.append(waiter)
                await waiter
            settlement = await self.execute(self._buffer.popleft(), lane)
            if settlement is not None:
                self._submit(settlement)
            self.finished += 1

    async def execute(self, claim: Claim, lane: asyncio.Task[Any]) -> Settlement | None:
        """Run one step of one claim and decide; None when its lease was lost meanwhile."""
        machine = self._registry.find(claim.action, claim.version)
        if machine is None:
            log.error("no such action here", job=claim.id, action=claim.action, version=claim.version)
            reason = f"this worker does not know action {claim.action!r} version {claim.version}"
            return release(claim, reason, _UNKNOWN_ACTION_PAUSE)
        step = machine.steps.get(claim.step)
        if step is None:
            return failure(claim, UnknownStep(f"{machine.name!r} has no step {claim.step!r}."))
        try:
            state = machine.load(claim.state)
        except ValueError as error:
            return failure(claim, error)
        ctx: Context[Any] = Context(
            id=claim.id,
            action=claim.action,
            version=claim.version,
            step=claim.step,
            attempt=claim.attempt,
            state=state,
            inbox=claim.inbox,
            timed_out=claim.timed_out,
            lease=claim.lease,
            runtime=self._runtime,
        )
        running = self.running[claim.id] = Running(claim, ctx, step, lane)
        try:
            settlement = await self._attempt(claim, machine, step, ctx, running)
        finally:
            del self.running[claim.id]
        if ctx.unit is not None and ctx.unit.is_open:
            if settlement.error is None and not running.lost:
                return await self._commit_own(settlement, machine, ctx)
            await ctx.unit.rollback()
        return None if running.lost else settlement

    async def _commit_own(
        self, settlement: Settlement, machine: Machine, ctx: Context[Any]
    ) -> Settlement | None:
        """Commit with what the step wrote; what Postgres refuses there is the step's own error."""
        self.committing += 1
        try:
            await self._commit(settlement, ctx.unit)
        except REFUSED as error:
            return self._handled(settlement.claim, machine, ctx, error)
        finally:
            self.committing -= 1
        return None

    async def _attempt(
        self, claim: Claim, machine: Machine, step: Step, ctx: Context[Any], running: Running
    ) -> Settlement:
        try:
            returned = await self._call(machine, step, ctx, claim)
        except asyncio.CancelledError as error:
            running.lane.uncancel()
            if ctx.cancel_requested or running.lost:
                return cancelled(claim, ctx)
            if self.stopping:
                return release(claim, "its worker is shutting down")
            return self._handled(claim, machine, ctx, error)
        except BaseException as error:  # noqa: BLE001 (whatever a step raises must end in a named state)
            return self._handled(claim, machine, ctx, error)
        return settle(claim, machine, returned, ctx=ctx)

    async def _call(self, machine: Machine, step: Step, ctx: Context[Any], claim: Claim) -> Any:
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
            return await step.call(*positional, **arguments)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._concurrency, thread_name_prefix="kairos-step")
        future = asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: step.call(*positional, **arguments)
        )
        return await future

    def _handled(self, claim: Claim, machine: Machine, ctx: Context[Any], error: BaseException) -> Settlement:
        """What `handle` makes of an error; an error in `handle` itself is the end."""
        log.warning(
            "step failed",
            job=claim.id,
            action=claim.action,
            step=claim.step,
            attempt=claim.attempt,
            exc_info=error,
        )
        if machine.handle is None or not isinstance(error, Exception):
            return settle(claim, machine, Stop(), error)
        try:
            answer = machine.handle(error, ctx)
        except Exception as broken:
            log.error("handle failed", job=claim.id, action=claim.action, exc_info=broken)
            return failure(claim, broken)
        ctx.spawned.clear()
        return settle(claim, machine, answer, error, ctx)
