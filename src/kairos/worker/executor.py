"""Run steps: lanes take claims from the buffer, run the user's code and hand the settlement to the flusher."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from kairos import telemetry
from kairos.errors import StepError, UnknownStep
from kairos.fsm.lifecycle import Status, Verb
from kairos.logger import Logger
from kairos.machine.context import Context, Runtime, write_log
from kairos.machine.definition import Machine, Step
from kairos.machine.registry import Registry
from kairos.machine.secrets import replace_secrets, secrets_of
from kairos.machine.step_log import cut
from kairos.store.driver_errors import PASSING
from kairos.worker.claim import Claim
from kairos.worker.clusters.pool import Clusters
from kairos.worker.leases import Leases
from kairos.worker.quarantine import Quarantine
from kairos.worker.running_step import RunningStep
from kairos.worker.settle import (
    Settlement,
    cancelled,
    error_text,
    failure,
    release,
    set_aside,
    settle,
)
from kairos.worker.step_failures import LOST_PAUSE, StepFailures, describe
from kairos.worker.step_runners import StepRunners
from kairos.worker.unknown_actions import UnknownActions

log = Logger("kairos.worker")

# Long enough for another worker to pick the job, short enough for a rolling deployment.
_UNKNOWN_ACTION_PAUSE = timedelta(seconds=10)
_SUSPECT_PAUSE = timedelta(seconds=1)
# Seconds between two checks of an idle lane whether a suspect still runs alone.
_QUARANTINE_POLL = 0.02
# Seconds that an interrupted step may take to clean up before its worker stops without it.
CANCELLED_WITHIN = 5.0


async def _no_inbox(_: Claim) -> None:
    """Load nothing: the inbox of the claim is already loaded."""


class Executor:
    """Run at most `concurrency` steps at once. A lane is one long-lived task: no task is made for each job."""

    def __init__(
        self,
        registry: Registry,
        concurrency: int,
        submit: Callable[[Settlement], None],
        commit: Callable[[Settlement, Any], Awaitable[None]],
        leases: Leases,
        runtime: Runtime | None = None,
        load_inbox: Callable[[Claim], Awaitable[None]] = _no_inbox,
        quarantine: Quarantine | None = None,
        on_death: Callable[[asyncio.Task[Any]], None] = lambda _: None,
        since_start: Callable[[int], Awaitable[timedelta | None]] | None = None,
        clusters: Clusters | None = None,
    ) -> None:
        self._failures = StepFailures(since_start)
        self._on_death = on_death
        self._load_inbox = load_inbox
        # Claims whose inbox is being loaded, before their step begins.
        self._loading: dict[int, Claim] = {}
        self._registry = registry
        self._concurrency = concurrency
        self._submit = submit
        self._commit = commit
        self._leases = leases
        self._runtime = runtime
        self._buffer: deque[Claim] = deque()
        self._lanes: set[asyncio.Task[None]] = set()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._lane_is_waking = False  # a lane was woken and has not begun yet
        self._step_runners = StepRunners(concurrency, registry.hooks_of, clusters)
        self.quarantine = quarantine or Quarantine(leases)
        self._tracer = telemetry.tracer()
        self.running: dict[int, RunningStep] = {}
        self.finished = 0
        self.stopping = False
        self.unknown = UnknownActions()

    @property
    def load(self) -> int:
        return len(self.running) + len(self._buffer) + len(self._loading)

    def add(self, claim: Claim, *, first: bool = False) -> None:
        """Queue a claim for the next free lane."""
        claim.buffered_at = time.monotonic()
        if first:
            self._buffer.appendleft(claim)
        else:
            self._buffer.append(claim)
        # No step begins while the executor stops: the claim will be released.
        if not self._lane_is_waking and not self.stopping:
            self._wake_lane()

    def _wake_lane(self) -> None:
        """Wake one lane. It wakes the next one if claims are left: steps that never await need only one lane."""
        while self._idle:
            waiter = self._idle.popleft()
            if not waiter.done():
                self._lane_is_waking = True
                waiter.set_result(None)
                return
        if len(self._lanes) < self._concurrency:
            self._lane_is_waking = True
            lane = asyncio.get_running_loop().create_task(self._lane())
            self._lanes.add(lane)
            lane.add_done_callback(self._lanes.discard)
            lane.add_done_callback(self._on_death)

    def settle(self, settlement: Settlement) -> None:
        """Take an outcome that was decided without running a step."""
        self._submit(settlement)

    def release_late(self, after: float) -> bool:
        """Release the claims that have waited for a lane for longer than `after` seconds; return whether any had."""
        oldest = time.monotonic() - after
        late = [claim for claim in self._buffer if claim.buffered_at < oldest] if self._buffer else []
        for claim in late:
            self._buffer.remove(claim)
            self._submit(release(claim, "every lane of its worker was busy"))
        return bool(late)

    def take_unstarted(self) -> list[Claim]:
        """Remove and return the claims whose step no lane has started."""
        claims = list(self._buffer)
        self._buffer.clear()
        return claims

    def lose(self, job_id: int, lease: int) -> None:
        """Stop the step of a lost lease, or do not begin it; nothing of it is committed."""
        running = self.running.get(job_id)
        if running is not None and running.claim.lease == lease:
            log.error("lease lost while running", job=job_id)
            running.lost = True
            self._leases.drop(running.claim)
            running.stop()
        for claim in [each for each in self._buffer if (each.id, each.lease) == (job_id, lease)]:
            self._buffer.remove(claim)
            self._leases.drop(claim)
        loading = self._loading.get(job_id)
        if loading is not None and loading.lease == lease:
            self._leases.drop(loading)  # its lane sees that and does not begin the step

    async def finish(self, grace: float) -> None:
        """Wait for running steps to end; after `grace` seconds, interrupt them."""
        self.stopping = True
        await self._wait_for_steps(grace)
        for running in list(self.running.values()):
            running.interrupt()
        await self._wait_for_steps(CANCELLED_WITHIN)
        for running in self.running.values():
            log.error(
                "a step does not end; its job is given back", job=running.claim.id, step=running.step.name
            )
            running.lost = True  # what it still returns is dropped
            self._submit(release(running.claim, "its worker is shutting down"))
        for lane in list(self._lanes):
            lane.cancel()
        await self._step_runners.close()

    async def _wait_for_steps(self, at_most: float) -> None:
        deadline = time.monotonic() + at_most
        while self.running and time.monotonic() < deadline:
            await asyncio.sleep(0.01)

    async def _lane(self) -> None:
        lane = asyncio.current_task()
        assert lane is not None
        loop, buffer = asyncio.get_running_loop(), self._buffer
        self._lane_is_waking = False
        while True:
            while not buffer:
                waiter = loop.create_future()
                self._idle.append(waiter)
                try:
                    await waiter
                finally:
                    self._lane_is_waking = False
            if self.quarantine.is_closed:
                await asyncio.sleep(_QUARANTINE_POLL)
                continue
            claim = buffer.popleft()
            if buffer and not self._lane_is_waking:
                self._wake_lane()
            settlement = await self.execute(claim, lane)
            if settlement is not None:
                self._submit(settlement)
            self.finished += 1

    async def execute(self, claim: Claim, lane: asyncio.Task[Any]) -> Settlement | None:
        """Run one step of a claim and return its settlement; None if its lease was lost meanwhile."""
        machine = self._registry.find(claim.action, claim.version)
        settlement = await self._execute(claim, machine, lane)
        if settlement is not None and machine is not None:
            settlement.error = _hide_secrets(settlement.error, claim, machine)
        return settlement

    async def _execute(
        self, claim: Claim, machine: Machine | None, lane: asyncio.Task[Any]
    ) -> Settlement | None:
        if machine is None:
            log.error("unknown action", job=claim.id, action=claim.action, version=claim.version)
            self.unknown.add_action(claim.action, claim.version)
            reason = f"this worker does not know action {claim.action!r} version {claim.version}"
            return release(claim, reason, _UNKNOWN_ACTION_PAUSE)
        if claim.suspect:
            waits = await self._wait_to_be_alone(claim)
            if waits is not None or not self._leases.holds(claim):
                return waits
        step = machine.steps.get(claim.step)
        if step is None:
            return self._fail(claim, machine, UnknownStep(f"{machine.name!r} has no step {claim.step!r}."))
        if claim.signalled and claim.steps_ahead == 0:
            failed = await self._load_or_settle(claim)
            if failed is not None or not self._leases.holds(claim):
                return failed
        try:
            state = machine.load(claim.state)
        except Exception as error:  # noqa: BLE001 (a state's own validators are user code)
            if unknown := machine.unknown_arguments(claim.state):
                log.error("unknown argument", **describe(claim), arguments=unknown)
                return release(claim, self.unknown.add_arguments(claim, unknown, machine.arguments))
            return self._fail(claim, machine, error)
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
        running = RunningStep(claim, ctx, step, lane)
        if (zombie := self.running.get(claim.id)) is not None:
            # Our lease expired while the step ran on, and this worker picked the job again.
            zombie.lost = True
            zombie.stop()
        self.running[claim.id] = running
        try:
            if self._tracer is None:
                settlement = await self._attempt(claim, machine, step, ctx, running)
            else:
                settlement = await self._traced(self._tracer, claim, machine, step, ctx, running)
            running.over = True
            while lane.cancelling():  # a step may have caught the cancellation; the next step must not get it
                lane.uncancel()
            if ctx.step_transaction is not None and ctx.step_transaction.is_open:
                if settlement.error is None and settlement.verb is not Verb.YIELD and not running.lost:
                    return await self._commit_own(settlement, machine, ctx)
                await ctx.step_transaction.close()
        finally:
            if self.running.get(claim.id) is running:
                del self.running[claim.id]
        return None if running.lost else settlement

    async def _load_or_settle(self, claim: Claim) -> Settlement | None:
        """Load the inbox; if that fails, return the settlement of the job.

        If the database is unavailable the job is released. If Postgres refuses to read the inbox the job is set aside,
        since every worker would get the same error.
        """
        self._loading[claim.id] = claim
        try:
            await self._load_inbox(claim)
        except PASSING as error:
            return release(claim, f"its inbox could not be read: {error_text(error)}", LOST_PAUSE)
        except Exception as error:  # noqa: BLE001 (an error of one inbox ends one job, and no lane)
            return set_aside(claim, "its inbox cannot be read", error)
        finally:
            if self._loading.get(claim.id) is claim:
                del self._loading[claim.id]
        return None

    async def _wait_to_be_alone(self, claim: Claim) -> Settlement | None:
        """Wait until no other step runs; return a settlement if the suspect cannot begin.

        A suspect that kills its worker then takes no other job with it, and is not blamed for what another job did.
        """
        if not self.quarantine.admit(claim):
            return release(
                claim, "its workers were lost repeatedly, so it waits to run alone", _SUSPECT_PAUSE
            )
        self._loading[claim.id] = claim
        begins = False
        try:
            begins = await self.quarantine.until_alone(
                claim, lambda: not self.running and len(self._loading) <= 1
            )
        except PASSING as error:
            return release(
                claim, f"it could not be recorded that it runs alone: {error_text(error)}", LOST_PAUSE
            )
        finally:
            if self._loading.get(claim.id) is claim:
                del self._loading[claim.id]
            if not begins:
                self.quarantine.leave(claim)
        return None

    async def _commit_own(
        self, settlement: Settlement, machine: Machine, ctx: Context[Any]
    ) -> Settlement | None:
        """Commit an outcome in the transaction of its step; an error of that commit is an error of the step."""
        try:
            await self._commit(settlement, ctx.step_transaction)
        except Exception as error:  # noqa: BLE001 (a broken constraint, a connection left in use)
            return self._failures.apply_policy(settlement.claim, machine, ctx, error)
        return None

    async def _traced(
        self, tracer: Any, claim: Claim, machine: Machine, step: Step, ctx: Context[Any], running: RunningStep
    ) -> Settlement:
        """`_attempt` within a span of the job's trace."""
        attributes = {
            "kairos.job.id": claim.id,
            "kairos.action": claim.action,
            "kairos.version": claim.version,
            "kairos.step": claim.step,
            "kairos.attempt": claim.attempt,
            "kairos.queue": claim.queue,
        }
        name = f"{claim.action} {claim.step}"
        with telemetry.span(tracer, name, telemetry.SpanKind.CONSUMER, claim.trace, attributes) as span:
            settlement = await self._attempt(claim, machine, step, ctx, running)
            span.set_attribute("kairos.outcome", settlement.verb)
            if settlement.error_code is not None:
                telemetry.failed(span, settlement.error_code)
        return settlement

    async def _attempt(
        self, claim: Claim, machine: Machine, step: Step, ctx: Context[Any], running: RunningStep
    ) -> Settlement:
        try:
            returned = await self._step_runners.call(machine, step, ctx, claim)
        except asyncio.CancelledError as error:
            if ctx.cancel_requested or running.lost:
                return cancelled(claim, ctx)
            if self.stopping:
                return release(claim, "its worker is shutting down")
            broken = StepError(f"Step {step.name!r} was cancelled, but not by Kairos.")
            broken.__cause__ = error
            return self._failures.apply_policy(claim, machine, ctx, broken)
        except BaseException as error:  # noqa: BLE001 (every error of a step must end in a named state)
            return await self._failures.settle(claim, machine, ctx, error)
        self._failures.succeeded(claim)
        settlement = settle(claim, machine, returned, ctx=ctx)
        if settlement.status is Status.FAILED:
            reason = _hide_secrets(settlement.error, claim, machine)
            log.warning("step failed", **describe(claim), error=reason)
            write_log(ctx, "error", cut(reason or "stopped"))
        return settlement

    def _fail(self, claim: Claim, machine: Machine, error: Exception) -> Settlement:
        """Log why a step cannot begin; return the settlement that fails its job."""
        log.warning("step failed", **describe(claim), error=_hide_secrets(error_text(error), claim, machine))
        return failure(claim, error)


def _hide_secrets(text: str | None, claim: Claim, machine: Machine) -> str | None:
    """Return the text without the values of the job's redacted fields."""
    return None if text is None else replace_secrets(text, secrets_of(claim.state, machine.redact))
