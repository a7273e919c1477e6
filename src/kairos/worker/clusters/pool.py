"""Run steps on clusters: one child process per kind of cluster is its client, see bridge.py."""

from __future__ import annotations

import asyncio
import pickle
import random
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from kairos.config import Settings
from kairos.errors import ConfigError, RunnerUnavailable, StepError, StepTaskLost
from kairos.extras import require
from kairos.logger import Logger
from kairos.machine.context import Context, write_log
from kairos.machine.definition import CLUSTERS, Machine, Step
from kairos.worker.claim import Claim
from kairos.worker.clusters.connection import Connection, Room, apply_message
from kairos.worker.clusters.task import versions
from kairos.worker.process_pool import request_of, value_of
from kairos.worker.settle import error_text

log = Logger("kairos.worker")

# Seconds that jobs wait after the cluster could not be reached: at first, doubled at each failure in a row, at most.
_FIRST_PAUSE, LONGEST_PAUSE = 2.0, 60.0
# Seconds that a job waits if the code on the cluster does not fit: a deployment may be under way.
UNFIT_PAUSE = 10.0
_REPORT_EVERY = 30.0
# Dask cannot end a running step. The step is asked to stop, as one in a thread is, and its job ends when it returns.
_ASKED_TO_STOP = ("dask",)

Report = Callable[[str, str], Awaitable[None]]


class Clusters:
    """The clusters of one worker, each connected on first use.

    `report` is called with the name of a cluster that cannot run steps, and with the reason. `room` waits until more
    log lines of a job can be taken.
    """

    def __init__(self, settings: Settings, report: Report | None = None, room: Room | None = None) -> None:
        self._pools = {
            kind: ClusterPool(kind, getattr(settings, f"{kind}_address"), report, room) for kind in CLUSTERS
        }

    def of(self, kind: str) -> ClusterPool:
        return self._pools[kind]

    async def close(self) -> None:
        for pool in self._pools.values():
            await pool.close()


def check_clusters(settings: Settings, machines: list[Machine]) -> None:
    """Refuse to work for machines whose steps run on a cluster that is not installed or has no address."""
    for machine in machines:
        for step in machine.steps.values():
            if step.runs_in in CLUSTERS:
                check_cluster(step.runs_in, getattr(settings, f"{step.runs_in}_address"), machine, step)


def check_cluster(kind: str, address: str | None, machine: Machine, step: Step) -> None:
    what = f"Step {step.name!r} of {machine.name!r} runs in {kind!r}, which"
    require(kind, what)
    if not address:
        raise ConfigError(
            f"{what} has no address: set KAIROS_{kind.upper()}_ADDRESS, or {kind}_address in code or kairos.toml; "
            '"local" starts a cluster on this machine.'
        )


class ClusterPool:
    """Runs steps on one cluster: connects on first use, and reconnects with growing pauses."""

    def __init__(
        self, kind: str, address: str | None, report: Report | None = None, room: Room | None = None
    ) -> None:
        self._kind = kind
        self._address = address
        self._report = report
        self._room = room
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._failures = 0
        self._not_before = 0.0
        self._why = ""
        self._reported: dict[str, float] = {}  # when each reason was reported

    async def connect(self, machine: Machine, step: Step) -> Connection:
        """Return the connection for a step, once there is one; raises `RunnerUnavailable`."""
        try:
            check_cluster(self._kind, self._address, machine, step)
        except ConfigError as error:  # a job of another worker's queue: this worker did not refuse to start
            raise self._unavailable(error.message, UNFIT_PAUSE) from None
        return await self._connected()

    async def run(self, machine: Machine, step: Step, ctx: Context[Any], claim: Claim) -> Any:
        """Run a step there; return its value or raise its error.

        `RunnerUnavailable` and `StepTaskLost` release the job; after too many losses in a row, `StepTaskLost` is
        handled as an error of the step.
        """
        request = request_of(machine, step, ctx, claim) | {"versions": versions(), "source": None}
        if request["main"] is not None:
            request["source"] = await asyncio.to_thread(Path(request["main"]).read_text)
        connection = await self.connect(machine, step)
        token, answer = connection.submit(pickle.dumps(request), ctx)
        try:
            # Unlike `await answer`, this does not cancel the answer with the lane.
            await asyncio.wait([answer])
        except asyncio.CancelledError:
            if not ctx.cancel_requested or self._kind not in _ASKED_TO_STOP:
                connection.drop(token)
                raise
            connection.stop(token)
            try:
                await asyncio.wait([answer])
            except asyncio.CancelledError:
                connection.drop(token)
                raise
        return self._value(answer.result(), step, ctx)

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    def _value(self, answer: dict[str, Any], step: Step, ctx: Context[Any]) -> Any:
        if "stopped" in answer:
            raise asyncio.CancelledError(f"step {step.name!r} was stopped before it began")
        if "down" in answer:
            raise self._unavailable(f"the {self._kind} cluster was lost: {answer['down']}", self._pause())
        if "lost" in answer:
            raise StepTaskLost(f"The {self._kind} cluster lost step {step.name!r}: {answer['lost']}.")
        envelope = answer.get("envelope", answer)
        if (unfit := envelope.get("unfit")) is not None:
            where = f"node {envelope['node']} of the" if "node" in envelope else "the"
            raise self._unavailable(
                f"{where} {self._kind} cluster cannot run step {step.name!r}: {unfit}", UNFIT_PAUSE
            )
        if missing := answer["missing"]:
            write_log(ctx, "error", f"{missing} lines were dropped: the cluster did not deliver them.")
        for kind, values in envelope["rest"]:
            apply_message(ctx, kind, values)
        try:
            # Made by our own code on the cluster, which runs the same program as this worker.
            found: dict[str, Any] = pickle.loads(envelope["answer"])  # noqa: S301
        except Exception as error:  # a class that only exists on the node
            raise StepError(
                f"The worker cannot unpickle what step {step.name!r} returned: {error_text(error)}."
            ) from error
        return value_of(found, ctx)

    async def _connected(self) -> Connection:
        if self._connection is not None and self._connection.is_open:
            return self._connection
        async with self._connecting:
            if self._connection is not None and self._connection.is_open:
                return self._connection
            if (left := self._not_before - time.monotonic()) > 0:
                raise self._unavailable(self._why, left, again=True)
            assert self._address is not None
            connection = Connection(self._kind, self._address, self._room)
            try:
                await connection.open()
            except ConnectionError as error:
                self._why = f"the {self._kind} cluster at {self._address} cannot be used: {error}"
                raise self._unavailable(self._why, self._pause()) from None
            self._connection, self._failures = connection, 0
            log.info("connected to a cluster", kind=self._kind, address=self._address)
            return connection

    def _pause(self) -> float:
        """Return how long to wait before the next connection, for this worker and its jobs."""
        if self._not_before < time.monotonic():
            self._failures += 1
            pause = min(_FIRST_PAUSE * 2 ** (self._failures - 1), LONGEST_PAUSE)
            self._not_before = time.monotonic() + pause
        return self._not_before - time.monotonic()

    def _unavailable(self, why: str, pause: float, *, again: bool = False) -> RunnerUnavailable:
        """Return the error that releases a job. Its reason is reported at most every half minute, and never `again`."""
        self._why, now = why, time.monotonic()
        if not again and now - self._reported.get(why, -_REPORT_EVERY) >= _REPORT_EVERY:
            self._reported = {each: at for each, at in self._reported.items() if now - at < _REPORT_EVERY}
            self._reported[why] = now
            log.error("a cluster does not serve", kind=self._kind, reason=why)
            if self._report is not None:
                reporting = asyncio.ensure_future(self._report(self._kind, why))
                reporting.add_done_callback(_reported)
        # Spread: the jobs of one failure must not come back all at once.
        spread = pause * (1 + random.random() / 2)  # noqa: S311 (no secret)
        return RunnerUnavailable(f"{why[0].upper()}{why[1:].rstrip('.')}.", timedelta(seconds=spread))


def _reported(done: asyncio.Future[None]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        log.warning("an alarm about a cluster could not be stored", error=error_text(error))
