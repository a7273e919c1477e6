"""Runs steps: lanes take claims from the buffer, run the user's code and hand the decision to the flusher."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from kairos import telemetry
from kairos.errors import StepError, UnknownStep
from kairos.fsm.lifecycle import Verb
from kairos.machine.backoff import read_policy
from kairos.machine.context import Context, Runtime, tell
from kairos.machine.definition import Machine, Step
from kairos.machine.log import as_json, cut, trace_of
from kairos.machine.outcome import Stop
from kairos.machine.registry import Registry
from kairos.worker.claim import Claim
from kairos.worker.leases import Leases
from kairos.worker.logs import Log
from kairos.worker.places import Places
from kairos.worker.settle import Settlement, cancelled, error_text, failure, release, settle

log = Log("kairos.worker")

# Long enough for another worker to be asked, short enough for a rolling deployment.
_UNKNOWN_ACTION_PAUSE = timedelta(seconds=10)
_REMEMBERED = 60.0
_SUSPECT_PAUSE = timedelta(seconds=1)
# How long an interrupted step may take to clean up before its worker leaves without it.
_LAST_WORDS = 5.0


class Running:
    """A step under way, and how to ask it to stop. `over` once only its commit is left to do."""

    __slots__ = ("claim", "ctx", "lane", "lost", "over", "step")

    def __init__(self, claim: Claim, ctx: Context[Any], step: Step, lane: asyncio.Task[Any]) -> None:
        self.claim = claim
        self.ctx = ctx
        self.step = step
        self.lane = lane
        self.lost = False
        self.over = False

    def stop(self) -> None:
        """Tell the step; an async one is cancelled at its next await, one in a process is ended."""
        self.ctx.cancel_requested = True
        if self.step.runs_in != "thread":
            self.interrupt()

    def interrupt(self) -> None:
        if not self.over:
            self.lane.cancel()


class Executor:
    """At most `concurrency` steps at once. A lane is one long-lived task: no task is made per job."""

    def __init__(
        self,
        registry: Registry,
        concurrency: int,
        submit: Callable[[Settlement], None],
        commit: Callable[[Settlement, Any], Awaitable[None]],
        leases: Leases,
        runtime: Runtime | None = None,
        on_death: Callable[[asyncio.Task[Any]], None] = lambda _: None,
    ) -> None:
        self._on_death = on_death
        self._registry = registry
        self._concurrency = concurrency
        self._submit = submit
        self._commit = commit
        self._leases = leases
        self._runtime = runtime
        self._buffer: deque[Claim] = deque()
        self._lanes: set[asyncio.Task[None]] = set()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._places = Places(concurrency)
        self._suspect: Claim | None = None
        self._tracer = telemetry.tracer()
        self.running: dict[int, Running] = {}
        self.finished = 0
        self.stopping = False
        self._strangers: dict[str, float] = {}

    @property
    def unknown(self) -> list[str]:
        """The actions, as action@version, that it was given within the last minute and does not know."""
        now = asyncio.get_running_loop().time()
        self._strangers = {name: at for name, at in self._strangers.items() if now - at < _REMEMBERED}
        return sorted(self._strangers)

    @property
    def load(self) -> int:
        return len(self.running) + len(self._buffer)

    def add(self, claim: Claim, *, first: bool = False) -> None:
        """Queue a claim for the next free lane."""
        if first:
            self._buffer.appendleft(claim)
        else:
            self._buffer.append(claim)
        if self.stopping:
            return  # nothing is begun any more: it will be given back
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

    def lose(self, job_id: int, lease: int) -> None:
        """The lease is someone else's now: end the step, or never begin it; nothing of it is committed."""
        running = self.running.get(job_id)
        if running is not None and running.claim.lease == lease:
            log.error("lease lost while running", job=job_id)
            running.lost = True
            self._leases.drop(running.claim)
            running.stop()
        for claim in [each for each in self._buffer if (each.id, each.lease) == (job_id, lease)]:
            self._buffer.remove(claim)
            self._leases.drop(claim)

    async def finish(self, grace: float) -> None:
        """Let what runs come to its end; after `grace` seconds, interrupt it."""
        self.stopping = True
        deadline = asyncio.get_running_loop().time() + grace
        while self.running and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
        for running in list(self.running.values()):
            running.interrupt()
        deadline = asyncio.get_running_loop().time() + _LAST_WORDS
        while self.running and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
        for running in self.running.values():
            log.error(
                "a step does not end; its job is given back", job=running.claim.id, step=running.step.name
            )
            running.lost = True  # whatever it still returns is nobody's
            self._submit(release(running.claim, "its worker is shutting down"))
        for lane in list(self._lanes):
            lane.cancel()
        await self._places.close()

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
            self._strangers[f"{claim.action}@{claim.version}"] = asyncio.get_running_loop().time()
            reason = f"this worker does not know action {claim.action!r} version {claim.version}"
            return release(claim, reason, _UNKNOWN_ACTION_PAUSE)
        if claim.suspect and not self._runs_alone(claim):
            return release(claim, "lost again and again, it waits to run alone", _SUSPECT_PAUSE)
        step = machine.steps.get(claim.step)
        if step is None:
            return failure(claim, UnknownStep(f"{machine.name!r} has no step {claim.step!r}."))
        try:
            state = machine.load(claim.state)
        except Exception as error:  # noqa: BLE001 (a state's own validators are user code)
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
            hide=machine.redact,
        )
        self._leases.begin(claim)
        running = Running(claim, ctx, step, lane)
        if (zombie := self.running.get(claim.id)) is not None:
            # Our own lease ran out while the step went on, and we picked the job again.
            zombie.lost = True
            zombie.stop()
        self.running[claim.id] = running
        try:
            if self._tracer is None:
                settlement = await self._attempt(claim, machine, step, ctx, running)
            else:
                settlement = await self._traced(self._tracer, claim, machine, step, ctx, running)
            running.over = True
            while lane.cancelling():  # a step may have swallowed it; the next step must not inherit it
                lane.uncancel()
            if ctx.unit is not None and ctx.unit.is_open:
                if settlement.error is None and settlement.verb is not Verb.YIELD and not running.lost:
                    return await self._commit_own(settlement, machine, ctx)
                await ctx.unit.rollback()
        finally:
            if self.running.get(claim.id) is running:
                del self.running[claim.id]
        return None if running.lost else settlement

    def _runs_alone(self, claim: Claim) -> bool:
        """One suspect at a time, until its outcome is committed: if it is what kills its worker, it must not
        take others down with it again until they too are given up.
        """
        if self._suspect is not None and self._suspect is not claim and self._leases.holds(self._suspect):
            return False
        self._suspect = claim
        return True

    async def _commit_own(
        self, settlement: Settlement, machine: Machine, ctx: Context[Any]
    ) -> Settlement | None:
        """Commit with what the step wrote; what Postgres refuses there is the step's own error."""
        try:
            await self._commit(settlement, ctx.unit)
        except Exception as error:  # noqa: BLE001 (a broken constraint, a connection left in use)
            return self._handled(settlement.claim, machine, ctx, error)
        return None

    async def _traced(
        self, tracer: Any, claim: Claim, machine: Machine, step: Step, ctx: Context[Any], running: Running
    ) -> Settlement:
        """The same within a span of the trace that the job carries."""
        told = {
            "kairos.job.id": claim.id,
            "kairos.action": claim.action,
            "kairos.version": claim.version,
            "kairos.step": claim.step,
            "kairos.attempt": claim.attempt,
            "kairos.queue": claim.queue,
        }
        name = f"{claim.action} {claim.step}"
        with telemetry.span(tracer, name, telemetry.SpanKind.CONSUMER, claim.trace, told) as span:
            settlement = await self._attempt(claim, machine, step, ctx, running)
            span.set_attribute("kairos.outcome", settlement.verb)
            if settlement.error_code is not None:
                telemetry.failed(span, settlement.error_code)
        return settlement

    async def _attempt(
        self, claim: Claim, machine: Machine, step: Step, ctx: Context[Any], running: Running
    ) -> Settlement:
        try:
            returned = await self._places.call(machine, step, ctx, claim)
        except asyncio.CancelledError as error:
            if ctx.cancel_requested or running.lost:
                return cancelled(claim, ctx)
            if self.stopping:
                return release(claim, "its worker is shutting down")
            broken = StepError(f"Step {step.name!r} was cancelled, but not by Kairos.")
            broken.__cause__ = error
            return self._handled(claim, machine, ctx, broken)
        except BaseException as error:  # noqa: BLE001 (whatever a step raises must end in a named state)
            return self._handled(claim, machine, ctx, error)
        return settle(claim, machine, returned, ctx=ctx)

    def _handled(self, claim: Claim, machine: Machine, ctx: Context[Any], error: BaseException) -> Settlement:
        """What the job's own policy, or else `handle`, makes of an error; an error in that itself is the end."""
        log.warning(
            "step failed",
            job=claim.id,
            action=claim.action,
            step=claim.step,
            attempt=claim.attempt,
            exc_info=error,
        )
        stack = trace_of(error)
        tell(ctx, "error", cut(error_text(error)), None if stack is None else as_json({"stack": stack}))
        if not isinstance(error, Exception):
            return settle(claim, machine, Stop(), error)
        # What the attempt took and spawned is undone with it: the next one finds its signals again.
        ctx.taken.clear()
        ctx.spawned.clear()
        try:
            handle = read_policy(claim.retry) or machine.handle
            answer = Stop() if handle is None else handle(error, ctx)
        except BaseException as broken:
            log.error("handle failed", job=claim.id, action=claim.action, exc_info=broken)
            return failure(claim, broken)
        return settle(claim, machine, answer, error, ctx)
