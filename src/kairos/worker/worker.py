"""The worker: it builds, starts and stops the picker, executor, flusher, keeper and the other loops."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from kairos.alarms.thresholds import Thresholds
from kairos.durations import duration
from kairos.logger import Logger
from kairos.machine.context import Context
from kairos.machine.registry import Registry
from kairos.operations.webhooks import ACTION, QUEUE
from kairos.store.async_store import AsyncStore
from kairos.store.driver_errors import PASSING, REFUSED
from kairos.store.query import TO_WORKER, Query
from kairos.worker import step_logging
from kairos.worker.alarm_loop import AlarmLoop
from kairos.worker.claim import Claim
from kairos.worker.clusters.pool import Clusters, check_clusters
from kairos.worker.executor import Executor
from kairos.worker.flusher import Flusher
from kairos.worker.heartbeat import CancelWatch, Condition, Heartbeat, Progress
from kairos.worker.inbox import Inboxes
from kairos.worker.keeper_process import KeeperProcess
from kairos.worker.lease_watch import LeaseWatch
from kairos.worker.leases import Leases
from kairos.worker.listener import Listener
from kairos.worker.lock_watch import LockWatch
from kairos.worker.log_writer import LogWriter
from kairos.worker.loop import Loop
from kairos.worker.pick_room import MAX_BATCH
from kairos.worker.picker import Picker
from kairos.worker.pruner import Pruner
from kairos.worker.quarantine import Quarantine, mark_in
from kairos.worker.settle import release
from kairos.worker.stats_counter import StatsCounter
from kairos.worker.step_failures import since_start_in
from kairos.worker.sweeper import Sweeper
from kairos.worker.transaction import StepTransaction, session_name
from kairos.worker.unknown_actions import known_names
from kairos.worker.worker_settings import WorkerSettings

log = Logger("kairos.worker")

# Seconds that an unavailable database may delay the end of a worker.
_SHUTDOWN_TIMEOUT = 5.0


class Worker:
    """Run jobs of the queues; `async with` starts the worker and shuts it down gracefully."""

    def __init__(
        self,
        store: Callable[[], AsyncStore],
        registry: Registry,
        settings: WorkerSettings,
        prepare: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        self._prepare = prepare
        # Never the same twice: a drain, or the keeper's hand-back, concerns every job that is held under the name.
        self.name = f"{settings.name or f'{socket.gethostname()}-{os.getpid()}'}-{secrets.token_hex(3)}"
        self.settings = settings
        self._open_store = store  # called by `start`: the app may not be open yet
        self._registry = registry
        self._tasks: list[asyncio.Task[Any]] = []
        self._leaving: asyncio.Task[None] | None = None
        self.left = asyncio.Event()  # set once a drain request has ended the worker

    async def __aenter__(self) -> Worker:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    async def start(self) -> None:
        step_logging.install()
        settings = self.settings
        self._loop = asyncio.get_running_loop()
        app_store = self._open_store()
        check_clusters(app_store.settings, [each for each in self._registry if each.queue in settings.queues])
        if self._prepare is not None:
            await self._prepare(self.name)
        if await app_store.may_lose_commits():
            log.warning(
                "synchronous_commit is off behind the pooler: a crash of Postgres may lose accepted jobs; "
                "set it to on for this user or database"
            )
        queues = settings.local_limits
        # A worker that knows the webhook action also serves the internal queue of Kairos.
        internal_queues = frozenset({QUEUE}) if self._registry.find(ACTION, 1) is not None else frozenset()
        internal_queues -= queues.keys()
        queues |= dict.fromkeys(internal_queues)
        lease = duration(settings.lease, "lease")
        store = self._store = await app_store.for_worker(lease.total_seconds())
        poll = duration(settings.poll, "poll").total_seconds()
        retention = duration(settings.retention, "retention")
        # Room for running steps, and for jobs that are claimed ahead or not yet committed.
        self._leases = Leases(settings.concurrency + 8 * MAX_BATCH)
        self.progress_loop = Progress(store, self.name)
        self.executor = Executor(
            self._registry,
            settings.concurrency,
            lambda settlement: self.flusher.submit(settlement),
            lambda settlement, transaction: self.flusher.commit_own(settlement, transaction),
            self._leases,
            runtime=self,
            load_inbox=Inboxes(store).load,
            quarantine=Quarantine(self._leases, mark_in(store, self.name)),
            on_death=_exit_if_loop_died,
            since_start=since_start_in(store),
            clusters=Clusters(store.settings, self._report_cluster, lambda job: self.log_writer.room(job)),
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
            seldom=internal_queues,
            backlog=lambda: self.flusher.backlog,
            stalled=lambda: self.flusher.stalled or self.executor.quarantine.is_closed,
            known=[(machine.name, machine.version) for machine in self._registry],
            met_unknown=self.executor.unknown.add_action,
            avoided=self.executor.unknown.avoided,
        )
        self.log_writer = LogWriter(store, self.name, lease, self._lines_refused)
        self.flusher = Flusher(
            store,
            self.name,
            self._leases,
            self._go_on,
            self.picker.settled,
            self.log_writer,
            in_doubt=self.picker.doubt_claims,
        )
        self.heartbeat = Heartbeat(
            store,
            self.name,
            list(queues),
            sorted({machine.name for machine in self._registry}),
            settings.concurrency,
            known_names(self._registry),
            retention,
            self._condition,
            self._asked_to_leave,
        )
        on_notification = {
            **dict.fromkeys(queues, self.picker.pick_soon),
            f"{TO_WORKER}{self.name}": self.heartbeat.wake,
        }
        cancel_watch = CancelWatch(store, self.executor, self.request_stop)
        self.listener = Listener(store, on_notification, cancel_watch.hint)
        self._keeper = KeeperProcess(
            store, self.name, self._leases, lease.total_seconds(), self._lost, self._cancel_all
        )
        loops: list[Loop] = [
            self.heartbeat,
            self.flusher,
            self.log_writer,
            self.listener,
            self.progress_loop,
            cancel_watch,
            Sweeper(store, self.name, freed=self.picker.pick_soon, lease=lease),
            LeaseWatch(store, self.name, self._leases, self._keeper, lease, self._lost),
            # The statements of these loops touch many rows, and use the store with the longer timeout.
            Pruner(app_store, retention),
            AlarmLoop(app_store, Thresholds.of(store.settings.alarm_after)),
            StatsCounter(app_store),
            self.picker,
        ]
        loops.append(LockWatch(store, tuple(loops)))
        outage = self._keeper.outage
        for loop in loops:
            loop.outage = outage
        await self._call_hooks("worker_start")
        await self._keeper.start()  # before anything is picked
        self._tasks = [asyncio.create_task(self._keeper.run(), name="keeper")]
        self._tasks += [asyncio.create_task(loop.run(), name=loop.name) for loop in loops]
        for task in self._tasks:
            task.add_done_callback(_exit_if_loop_died)
        log.info("worker started", worker=self.name, queues=list(queues), concurrency=settings.concurrency)

    async def stop(self) -> None:
        """Stop picking, finish or release the picked jobs, and end."""
        if self._leaving is not None:
            await self._leaving
        elif self._tasks:
            await self._stop()

    def _asked_to_leave(self) -> None:
        """Stop after a drain request in the database, and set `left` at the end."""
        if self._leaving is None:
            log.info("drain requested: running steps may finish", worker=self.name)
            self._leaving = asyncio.create_task(self._stop(), name="leaving")
            self._leaving.add_done_callback(lambda task: self.left.set())

    async def _stop(self) -> None:
        self.picker.stopped = True
        self.flusher.handed_back.clear()
        self.heartbeat.announce_stop()
        self._release_unstarted()
        grace = duration(self.settings.grace, "grace").total_seconds()
        deadline = asyncio.get_running_loop().time() + grace + _SHUTDOWN_TIMEOUT
        await self.executor.finish(grace)
        try:
            await self._call_hooks("worker_stop")
        except Exception as error:
            log.error("a hook failed when the worker stopped", worker=self.name, exc_info=error)
        settled = False
        with suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                await self.picker.at_rest()
                self._release_unstarted()
                await self.flusher.drained()
                settled = True
                await self.log_writer.drained()
        if lines := self.log_writer.unwritten_lines():
            log.error("log lines were not stored before the worker stopped", lines=lines)
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.remove_done_callback(_exit_if_loop_died)
            task.cancel()
        await asyncio.wait(tasks, timeout=_SHUTDOWN_TIMEOUT)
        await self._leave(settled)
        self._leases.close()
        log.info(
            "worker stopped", worker=self.name, committed=self.flusher.committed, stale=self.flusher.stale
        )

    async def _call_hooks(self, when: str) -> None:
        for hooks in self._registry.all_hooks():
            for hook in getattr(hooks, when):
                answer = hook(self)
                if isinstance(answer, Awaitable):
                    await answer

    def _condition(self) -> Condition:
        return Condition(
            self.executor.unknown.names(),
            self.flusher.stale,
            self.listener.is_receiving,
            self.flusher.blocked_by,
        )

    def _release_unstarted(self) -> None:
        for claim in self.executor.take_unstarted():
            self.flusher.submit(release(claim, "its worker is shutting down"))

    async def _leave(self, settled: bool) -> None:
        """Delete the worker's row and end the keeper; jobs that could not be committed are left to the keeper."""
        try:
            async with asyncio.timeout(_SHUTDOWN_TIMEOUT):
                if settled:
                    # Release jobs of a pick whose answer was lost.
                    rows = await self._store.run(Query("release_unstarted", (self.name, [])))
                    # Only of these: a hundred idle workers that stop must not wake each other.
                    queues = self.flusher.handed_back | {row["queue"] for row in rows}
                    if queues:
                        await self._store.run(Query("notify_queues", (sorted(queues),)))
                await self.heartbeat.leave()
        except (*PASSING, REFUSED) as error:
            settled = False
            log.error("the worker stopped without removing its row", error=str(error))
        await self._keeper.stop(settled=settled)
        await self.listener.close()

    # The runtime of steps: see `Runtime` in machine/context.py

    def progress(self, ctx: Context[Any], done: int, total: int | None) -> None:
        """Report progress on the event loop, since a step may run in a thread."""
        assert ctx.reported is not None
        with suppress(RuntimeError):  # a thread that outlived the loop
            self._loop.call_soon_threadsafe(self.progress_loop.report, ctx.id, ctx.lease, ctx.reported)

    def transaction(self, ctx: Context[Any]) -> StepTransaction:
        """Return the transaction of a step; it lasts at most as long as the step's timeout."""
        name = session_name(ctx.id, ctx.lease, self._store.settings.schema)
        running = self.executor.running.get(ctx.id)
        if running is not None and running.step.timeout is not None:
            return StepTransaction(self._store, self._loop, name, running.step.timeout.total_seconds())
        return StepTransaction(self._store, self._loop, name)

    def write_log(
        self, ctx: Context[Any], level: str, line: str, fields: str | None, stream: str | None
    ) -> None:
        """Buffer a log line at once, also from a thread: the outcome is committed after the lines logged before it."""
        self.log_writer.add(ctx.id, ctx.lease, ctx.step, ctx.attempt, level, line, fields, stream)

    def request_stop(self, job_id: int) -> None:
        """Ask a running step to stop, because its job was cancelled."""
        running = self.executor.running.get(job_id)
        if running is not None and not running.ctx.cancel_requested:
            running.stop()

    async def _report_cluster(self, kind: str, why: str) -> None:
        """Record that a cluster does not serve, for the alarm."""
        await self._store.run(Query("note_incident", ("runner_unavailable", kind, why[:300])))

    def _go_on(self, claim: Claim) -> None:
        if self.executor.stopping:
            self.flusher.submit(release(claim, "its worker is shutting down"))
        else:
            self.executor.add(claim, first=True)

    def _lost(self, leases: list[tuple[int, int]]) -> None:
        """Stop the steps of lost leases.

        They are identified by lease, not by job: this worker may have picked the job again since, or gone on with its
        next step.
        """
        for job_id, lease in leases:
            self.executor.lose(job_id, lease)

    def _lines_refused(self, job_id: int, lease: int) -> None:
        """Stop the step whose log lines were refused: its lease is lost.

        The job may have been leased to this worker again without its knowledge, so the picker checks for that.
        """
        self.executor.lose(job_id, lease)
        self.picker.doubt_claims()

    def _cancel_all(self, job_ids: list[int]) -> None:
        for job_id in job_ids:
            self.request_stop(job_id)


def _exit_if_loop_died(task: asyncio.Task[Any]) -> None:
    """Exit the process when a loop died: that is a bug, and a worker without one of its loops must not run on."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.critical("a worker loop died", loop=task.get_name(), exc_info=error)
        os._exit(70)
