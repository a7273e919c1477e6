"""The worker: where picker, executor, flusher, keeper and the loops are put together."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Any

from kairos.alarms.thresholds import Thresholds
from kairos.durations import Duration, duration
from kairos.errors import ConfigError
from kairos.machine.context import Context
from kairos.machine.registry import Registry
from kairos.store.faults import PASSING
from kairos.store.pool import AsyncStore
from kairos.store.query import Query
from kairos.verbs.webhooks import ACTION, QUEUE
from kairos.worker.beat import Beat, CancelWatch, Condition, Progress
from kairos.worker.claim import Claim
from kairos.worker.executor import Executor
from kairos.worker.flusher import Flusher
from kairos.worker.guardian import Guardian
from kairos.worker.leases import Leases
from kairos.worker.listener import Listener
from kairos.worker.logs import Log, hide_locals
from kairos.worker.loop import Loop
from kairos.worker.picker import MAX_BATCH, Picker
from kairos.worker.pruner import Pruner
from kairos.worker.scribe import Scribe
from kairos.worker.settle import release
from kairos.worker.sweeper import Sweeper
from kairos.worker.tally import Tally
from kairos.worker.transaction import StepTransaction
from kairos.worker.watchman import Watchman

log = Log("kairos.worker")

# How long a database that is away may hold up the end of a worker.
_FAREWELL = 5.0
# What begins a hint that is meant for one worker, and not for those of a queue.
_DRAIN = "\x02"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """`queues` may map a queue to how many of its jobs this worker runs at once; `name` is the first part of its own,
    which has a random one too, so that two of one name, or a worker and its successor, are told apart.
    """

    queues: Sequence[str] | Mapping[str, int | None] = ("default",)
    concurrency: int = 20
    lease: Duration = 30
    poll: Duration = 1
    grace: Duration = 30
    retention: Duration = "7d"
    name: str | None = None

    def __post_init__(self) -> None:
        if not self.queues:
            raise ConfigError("A worker needs at least one queue.")
        if isinstance(self.queues, str):
            raise ConfigError("queues is text; give a list of names.")
        if self.concurrency < 1:
            raise ConfigError(f"concurrency is {self.concurrency}; a worker runs at least 1 job at once.")
        if duration(self.lease, "lease") < timedelta(seconds=0.3):
            raise ConfigError(f"lease is {self.lease}; under 0.3 s it would expire between two beats.")

    @property
    def local_limits(self) -> dict[str, int | None]:
        return dict(self.queues) if isinstance(self.queues, Mapping) else dict.fromkeys(self.queues)


class Worker:
    """Runs jobs of its queues until it is closed. `async with` starts it and shuts it down in good order."""

    def __init__(
        self,
        store: Callable[[], AsyncStore],
        registry: Registry,
        settings: WorkerSettings,
        prepare: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._prepare = prepare
        # Never the same twice: whoever lives under a name may be drained, and give back all that is held under it.
        self.name = f"{settings.name or f'{socket.gethostname()}-{os.getpid()}'}-{secrets.token_hex(3)}"
        self.settings = settings
        self._open_store = store  # asked for at the start: the app may not be open yet
        self._registry = registry
        self._tasks: list[asyncio.Task[Any]] = []
        self._leaving: asyncio.Task[None] | None = None
        self.left = asyncio.Event()  # set once it has left because it was asked to

    async def __aenter__(self) -> Worker:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        hide_locals()
        settings = self.settings
        self._loop = asyncio.get_running_loop()
        store = self._store = self._open_store()
        if self._prepare is not None:
            await self._prepare()
        queues = settings.local_limits
        # Besides its own it serves Kairos' queue, where it knows what is done there.
        errands = frozenset({QUEUE}) if self._registry.find(ACTION, 1) is not None else frozenset()
        errands -= queues.keys()
        queues |= dict.fromkeys(errands)
        lease = duration(settings.lease, "lease")
        poll = duration(settings.poll, "poll").total_seconds()
        retention = duration(settings.retention, "retention")
        # Room for the running steps and for what is claimed ahead of them or not yet committed.
        self._leases = Leases(settings.concurrency + 8 * MAX_BATCH)
        self.progress_loop = Progress(store)
        self.executor = Executor(
            self._registry,
            settings.concurrency,
            self._submit,
            self._commit_own,
            self._leases,
            runtime=self,
            on_death=_loud,
        )
        self.picker = Picker(
            store,
            self.name,
            queues,
            settings.concurrency,
            self.executor,
            self._leases,
            lease,
            poll,
            seldom=errands,
        )
        self.scribe = Scribe(store, self.name, lease)
        self.flusher = Flusher(store, self.name, self._leases, self._go_on, self.picker.settled, self.scribe)
        self.flusher.failed = self.picker.failed  # type: ignore[method-assign]
        self._beat = Beat(
            store,
            self.name,
            list(queues),
            sorted({machine.name for machine in self._registry}),
            settings.concurrency,
            sorted(f"{machine.name}@{machine.version}" for machine in self._registry),
            retention,
            self._condition,
            self._asked_to_leave,
        )
        hints = {**dict.fromkeys(queues, self.picker.look), f"{_DRAIN}{self.name}": self._beat.wake}
        self._listener = Listener(store, hints, self.request_stop)
        self._guardian = Guardian(
            store, self.name, self._leases, lease.total_seconds(), self._lost, self._cancel_all
        )
        loops: list[Loop] = [
            self._beat,
            self.flusher,
            self.scribe,
            self._listener,
            self.progress_loop,
            CancelWatch(store, self.executor, self.request_stop),
            Sweeper(store, self.name, freed=self.picker.look),
            Pruner(store, retention),
            Watchman(store, Thresholds.of(store.settings.alarm_after)),
            Tally(store),
            self.picker,
        ]
        await self._guardian.start()  # before anything is picked
        self._tasks = [asyncio.create_task(self._guardian.run(), name="keeper")]
        self._tasks += [asyncio.create_task(loop.run(), name=loop.name) for loop in loops]
        for task in self._tasks:
            task.add_done_callback(_loud)
        log.info("worker started", worker=self.name, queues=list(queues), concurrency=settings.concurrency)

    async def stop(self) -> None:
        """Stop picking, finish or give back what was picked, and leave."""
        if self._leaving is not None:
            await self._leaving
        elif self._tasks:
            await self._stop()

    def _asked_to_leave(self) -> None:
        """Somebody asked over the database: stop as if told here, and say so to whoever waits for `left`."""
        if self._leaving is None:
            log.info("asked to leave: what runs may finish", worker=self.name)
            self._leaving = asyncio.create_task(self._stop(), name="leaving")
            self._leaving.add_done_callback(lambda task: self.left.set())

    async def _stop(self) -> None:
        self.picker.stopped = True
        self._beat.say_stopping()
        self._give_back()
        grace = duration(self.settings.grace, "grace").total_seconds()
        await self.executor.finish(grace)
        settled = False
        with suppress(TimeoutError):
            async with asyncio.timeout(max(grace, _FAREWELL)):
                await self.picker.at_rest()
                self._give_back()
                settled = await self.flusher.drained()
                await self.scribe.drained()
        if lines := self.scribe.left():
            log.error("lines were not stored before the worker had to leave", lines=lines)
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.remove_done_callback(_loud)
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._leave(settled)
        self._leases.close()
        log.info(
            "worker stopped", worker=self.name, committed=self.flusher.committed, stale=self.flusher.stale
        )

    def _condition(self) -> Condition:
        return Condition(self.executor.unknown, self.flusher.stale, self._listener.hears)

    def _give_back(self) -> None:
        for claim in self.executor.take_back():
            self.flusher.submit(release(claim, "its worker is shutting down"))

    async def _leave(self, settled: bool) -> None:
        """Say goodbye. What could not be committed is left to the keeper, as if this worker had died."""
        try:
            async with asyncio.timeout(_FAREWELL):
                if settled:
                    # A pick whose answer was lost on the way.
                    await self._store.run(Query("release_unheld", (self.name, [])))
                await self._beat.leave()
        except PASSING as error:
            settled = False
            log.error("left without a word to the database", error=str(error))
        await self._guardian.stop(settled=settled)
        await self._listener.close()

    # What the executor asks on behalf of a step

    def progress(self, ctx: Context[Any], done: int, total: int | None) -> None:
        """Reported in the loop, since a step may run in a thread."""
        assert ctx.told is not None
        with suppress(RuntimeError):  # a thread that outlived the loop
            self._loop.call_soon_threadsafe(self.progress_loop.report, ctx.id, ctx.lease, ctx.told)

    def transaction(self) -> StepTransaction:
        return StepTransaction(self._store)

    def say(self, ctx: Context[Any], level: str, line: str, fields: str | None, stream: str | None) -> None:
        """Keep what a step said; here at once, since an outcome waits for the lines that were said before it."""
        self.scribe.say(ctx.id, ctx.lease, ctx.step, ctx.attempt, level, line, fields, stream)

    def request_stop(self, job_id: int) -> None:
        """Tell a running step that its job was cancelled."""
        running = self.executor.running.get(job_id)
        if running is not None and not running.ctx.cancel_requested:
            running.stop()

    def _submit(self, settlement: Any) -> None:
        self.flusher.submit(settlement)

    async def _commit_own(self, settlement: Any, unit: StepTransaction) -> None:
        await self.flusher.commit_own(settlement, unit)

    def _go_on(self, claim: Claim) -> None:
        if self.executor.stopping:
            self.flusher.submit(release(claim, "its worker is shutting down"))
        else:
            self.executor.add(claim, first=True)

    def _lost(self, leases: list[tuple[int, int]]) -> None:
        """Leases that are someone else's now. By lease and not by job: we may have picked the job again, or
        gone on with its next step, since the keeper looked.
        """
        for job_id, lease in leases:
            self.executor.lose(job_id, lease)

    def _cancel_all(self, job_ids: list[int]) -> None:
        for job_id in job_ids:
            self.request_stop(job_id)


def _loud(task: asyncio.Task[Any]) -> None:
    """A loop never ends by itself: if one does, that is a bug, and the worker must not limp on silently."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.critical("a worker loop died", loop=task.get_name(), exc_info=error)
        os._exit(70)
