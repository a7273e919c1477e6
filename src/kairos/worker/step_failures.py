"""Decide what follows an error of a step: a retry, the end of its job, or a release that does not count."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

from kairos.errors import RunnerUnavailable, StepError, StepTaskLost, StepTimeout
from kairos.logger import Logger
from kairos.machine.backoff import Backoff, read_policy
from kairos.machine.context import Context, undo, write_log
from kairos.machine.definition import Machine
from kairos.machine.outcome import Stop
from kairos.machine.secrets import replace_secrets, secrets_of
from kairos.machine.step_log import as_json, cut, trace_of
from kairos.store.async_store import AsyncStore
from kairos.store.query import Query
from kairos.worker.claim import Claim
from kairos.worker.settle import Settlement, error_text, failure, lost_connection, release, settle

log = Logger("kairos.worker")

# A step whose transaction lost its connection is tried again after this pause, so that Postgres is not flooded. A step
# that lost it more often than this while using it may be the cause (out of memory, a crash): that is the step's error.
LOST_PAUSE = timedelta(seconds=1)
MOST_LOSSES = 5


class StepFailures:
    """Decide about the errors of steps. `since_start` reads how long a job has been running."""

    def __init__(self, since_start: Callable[[int], Awaitable[timedelta | None]] | None = None) -> None:
        self._since_start = since_start
        # How often in a row the transaction of a job lost its connection in use, or its cluster lost its step.
        self._losses: dict[int, int] = {}

    def succeeded(self, claim: Claim) -> None:
        """Reset the count of lost connections of a job whose step succeeded."""
        if self._losses:
            self._losses.pop(claim.id, None)

    async def settle(
        self, claim: Claim, machine: Machine, ctx: Context[Any], error: BaseException
    ) -> Settlement:
        """Return the settlement of a job whose step raised an error."""
        if (lost := self._connection_lost(ctx, error)) is not None:
            return lost_connection(claim, lost, LOST_PAUSE)
        if isinstance(error, RunnerUnavailable):
            return self._hand_back(claim, ctx, error, error.pause)
        if isinstance(error, StepTaskLost) and self._count_loss(ctx):
            return self._hand_back(claim, ctx, error, LOST_PAUSE)
        await self._measure(claim, machine, ctx)
        return self.apply_policy(claim, machine, ctx, error)

    def apply_policy(
        self, claim: Claim, machine: Machine, ctx: Context[Any], error: BaseException
    ) -> Settlement:
        """Apply the job's own retry policy, or else `handle`, to an error; if that raises, the job fails."""
        hide = partial(replace_secrets, secrets=secrets_of(claim.state, machine.redact))
        stack = trace_of(error, hide) or ""
        log.warning("step failed", **describe(claim), stack=stack)
        message = cut(hide(error_text(error)))
        write_log(ctx, "error", message, as_json({"stack": stack}) if stack else None)
        if not isinstance(error, Exception):
            return settle(claim, machine, Stop(), error)
        undo(ctx)
        try:
            handle = read_policy(claim.retry) or machine.handle
            answer = Stop() if handle is None else handle(error, ctx)
        except BaseException as broken:  # noqa: BLE001 (a user's handle may raise anything)
            stack = trace_of(broken, hide) or ""
            log.error("handle failed", job=claim.id, action=claim.action, stack=stack)
            return failure(claim, broken)
        return settle(claim, machine, answer, error, ctx)

    def _connection_lost(self, ctx: Context[Any], error: BaseException) -> BaseException | None:
        """Return the error that broke the connection of the step's transaction, if the step failed because of it."""
        lost: BaseException | None = None if ctx.step_transaction is None else ctx.step_transaction.lost
        if lost is None or isinstance(error, StepTimeout) or not isinstance(error, Exception):
            return None
        if ctx.step_transaction.lost_in_use and not self._count_loss(ctx):
            return None
        return lost

    def _count_loss(self, ctx: Context[Any]) -> bool:
        """Count a loss that may be the step's own doing; return False once there were too many in a row."""
        self._losses[ctx.id] = self._losses.get(ctx.id, 0) + 1
        if self._losses[ctx.id] > MOST_LOSSES:
            del self._losses[ctx.id]
            return False
        return True

    def _hand_back(self, claim: Claim, ctx: Context[Any], error: StepError, pause: timedelta) -> Settlement:
        """Release a job whose step the cluster did not run, or lost."""
        log.warning("step handed back", **describe(claim), reason=error.message)
        write_log(ctx, "warning", cut(error.message))
        return release(claim, error.message, pause)

    async def _measure(self, claim: Claim, machine: Machine, ctx: Context[Any]) -> None:
        """Read how long the job has been running, if its retry policy needs that."""
        if self._since_start is None or (claim.retry is None and machine.handle is None):
            return
        with suppress(
            Exception
        ):  # an unreadable policy, or no database: `apply_policy` and the commit report them
            policy = read_policy(claim.retry) or machine.handle
            if not isinstance(policy, Backoff) or policy.within is not None:
                ctx.since_start = await self._since_start(claim.id)


def since_start_in(store: AsyncStore) -> Callable[[int], Awaitable[timedelta | None]]:
    """Return the function that reads from the database how long a job has been running."""

    async def since_start(job_id: int) -> timedelta | None:
        rows = await store.run(Query("read_since_start", (job_id,)))
        return rows[0]["since_start"] if rows else None

    return since_start


def describe(claim: Claim) -> dict[str, Any]:
    """Return the fields that name a claim in the worker's log."""
    return {"job": claim.id, "action": claim.action, "step": claim.step, "attempt": claim.attempt}
