"""The public methods of `Kairos` and `SyncKairos`: the operations, bound to a way of running them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from kairos import operations
from kairos.action import J
from kairos.decorators import Decorators
from kairos.durations import Duration
from kairos.machine.call import Call
from kairos.machine.definition import Machine
from kairos.machine.registry import Registry
from kairos.operations.declared_schedules import Declared
from kairos.schedules import AsyncSchedules, Schedules, SyncSchedules
from kairos.shapes.alarm import Alarm
from kairos.shapes.history import HistoryRow
from kairos.shapes.job import Job
from kairos.shapes.log_line import LogRow
from kairos.shapes.queue import Limits, Queue
from kairos.shapes.signal import SignalRow
from kairos.shapes.worker import WorkerRow
from kairos.store.query import Operation, Outbox, Query, Row, drive, drive_sync
from kairos.sync_async import RunsAsync, RunsSync, runs_operation, sync_or_async

if TYPE_CHECKING:
    from kairos.store.user_connections import Execute

T = TypeVar("T")


class OperationMethods(Decorators[J], ABC):
    """Every operation as a method; `run` decides whether a method returns a value or an awaitable."""

    @abstractmethod
    def run(self, operation: Operation[Any]) -> Any:
        """Run one operation of `kairos.operations`."""

    @property
    @abstractmethod
    def schedules(self) -> Schedules:
        """The operations on schedules."""

    @sync_or_async
    def enqueue(self, call: Call) -> Operation[Job]:
        """Enqueue one job."""
        return self._jobs(operations.enqueue(call))

    @sync_or_async
    def enqueue_many(self, calls: Iterable[Call]) -> Operation[list[Job]]:
        """Enqueue many jobs in one statement; `is_new` says of each whether it was inserted or already there."""
        return self._jobs(operations.enqueue_many(calls))

    @sync_or_async
    def get(self, job_id: int) -> Operation[Job]:
        """Return one job as it is now."""
        return self._jobs(operations.get(job_id))

    @sync_or_async
    def jobs(self, /, **filters: Any) -> Operation[list[Job]]:
        """Return jobs, newest first, by `before`, `limit` and the filters of `kairos.shapes.job_filters`."""
        return self._jobs(operations.list_jobs(**filters))

    @sync_or_async
    def history(self, job_id: int) -> Operation[list[HistoryRow]]:
        """Return every committed change of one job, in order."""
        return operations.history(job_id)

    @sync_or_async
    def logs(self, job_id: int, *, after: int = 0, limit: int = 1000) -> Operation[list[LogRow]]:
        """Return a page of a job's log lines, in order; pass the last `cursor` as `after` for the next page."""
        return operations.logs(job_id, after=after, limit=limit)

    @sync_or_async
    def signals(self, job_id: int) -> Operation[list[SignalRow]]:
        """Return the signals sent to one job, consumed or not."""
        return operations.signals(job_id)

    @sync_or_async
    def signal(
        self, target: int | str, name: str, payload: Any = None, *, dedup_key: str | None = None
    ) -> Operation[str]:
        """Send a signal to a job, by id or by the unique key it holds."""
        return operations.signal(target, name, payload, dedup_key=dedup_key)

    @sync_or_async
    def cancel(self, job_id: int, *, reason: str | None = None) -> Operation[Job]:
        """Cancel a job before it runs, or ask a running one to stop."""
        return self._jobs(operations.cancel(job_id, reason=reason))

    @sync_or_async
    def run_now(self, job_id: int) -> Operation[Job]:
        """Make a scheduled job due now."""
        return self._jobs(operations.run_now(job_id))

    @sync_or_async
    def snooze(
        self,
        job_id: int,
        *,
        delay: Duration | None = None,
        until: datetime | None = None,
        reason: str | None = None,
    ) -> Operation[Job]:
        """Postpone a job that waits for a worker, by a delay from now or until an instant."""
        return self._jobs(operations.move("snooze", job_id, delay=delay, until=until, reason=reason))

    @sync_or_async
    def retry(self, job_id: int) -> Operation[Job]:
        """Enqueue a new job with the input of one that ended."""
        return self._jobs(self.retrying(job_id))

    @sync_or_async
    def edit(self, job_id: int, /, **changes: Any) -> Operation[Job]:
        """Change `priority`, `queue`, `tags`, `run_at`, `ttl` or `expires_at` of a job that waits for a worker."""
        return self._jobs(operations.edit(job_id, changes))

    @sync_or_async
    def delete(self, job_id: int) -> Operation[None]:
        """Delete a job that ended, with its history, signals and logs."""
        return operations.delete(job_id)

    @sync_or_async
    def result(self, job_id: int, timeout: Duration | None = None) -> Operation[Any]:
        """Wait for a job to end and return its output; any other end raises `JobFailed`."""
        return operations.result(job_id, timeout=timeout)

    @sync_or_async
    def result_of(self, machine: Machine, job_id: int, timeout: Duration | None = None) -> Operation[Any]:
        """Wait for a job of this machine to end and return its output as the type that its code declares."""
        return _typed(machine, operations.result(job_id, timeout=timeout))

    @sync_or_async
    def queues(self) -> Operation[list[Queue]]:
        """Return the queues that have or had jobs, have settings or have a live worker."""
        return operations.queues()

    @sync_or_async
    def pause(self, queue: str) -> Operation[Queue]:
        """Stop picking from a queue."""
        return operations.pause(queue)

    @sync_or_async
    def resume(self, queue: str) -> Operation[Queue]:
        """Pick from a queue again."""
        return operations.resume(queue)

    @sync_or_async
    def limit(self, queue: str, **limits: Unpack[Limits]) -> Operation[Queue]:
        """Set a queue's limits over all workers: `app.limit("mail", rate=(100, "1m"))`; those left out are removed."""
        return operations.limit(queue, **limits)

    @sync_or_async
    def workers(self) -> Operation[list[WorkerRow]]:
        """Return the registered workers."""
        return operations.workers()

    @sync_or_async
    def alarms(
        self,
        *,
        all: bool = False,  # noqa: A002 (its name in the URL)
        before: int | None = None,
        limit: int = 100,
    ) -> Operation[list[Alarm]]:
        """Return the open alarms, newest first; `all` adds the cleared ones."""
        return operations.alarms(all=all, before=before, limit=limit)

    @sync_or_async
    def acknowledge(self, alarm_id: int, *, actor: str | None = None) -> Operation[Alarm]:
        """Acknowledge an alarm; one about a past event is cleared by that."""
        return operations.acknowledge(alarm_id, actor=actor)

    def retrying(self, job_id: int, **origin: Any) -> Operation[Job]:
        """Return the operation behind `retry`, to be run together with others in one transaction."""
        old = yield from operations.get(job_id)
        machine = self.registry.find(old.action, old.version)
        if machine is None:
            return (yield from operations.retry(job_id, **origin))
        return (yield from operations.retry(job_id, step=machine.initial, ttl=machine.ttl, **origin))

    def _jobs(self, operation: Operation[T]) -> Operation[T]:
        """Bind the returned jobs to this client, so that `job.transition()` works."""
        answer = yield from operation
        if isinstance(answer, Job):
            return answer.bound(self._apply)  # type: ignore[return-value]
        if isinstance(answer, list):
            change = self._apply
            return [job.bound(change) for job in answer]  # type: ignore[return-value]
        return answer

    def _apply(self, request: str, job: Job, **details: Any) -> Any:
        return self.run(self._jobs(operations.move(request, job.id, **details)))


def _typed(machine: Machine, waiting: Operation[Any]) -> Operation[Any]:
    return machine.load_result((yield from waiting))


class AsyncOperations(OperationMethods[Coroutine[Any, Any, Job]], RunsAsync):
    """Operations whose results are awaited."""

    @runs_operation
    async def run(self, operation: Operation[T]) -> T:
        """Run one operation of `kairos.operations`, then send its notifications."""
        outbox = Outbox()
        answer = await drive(operation, self._execute, outbox)
        await self._send(outbox)
        return answer

    @property
    def schedules(self) -> AsyncSchedules:
        """The operations on schedules."""
        return AsyncSchedules(self.run, self.calendars)

    @abstractmethod
    async def _execute(self, query: Query) -> Sequence[Row]: ...

    @abstractmethod
    async def _send(self, outbox: Outbox) -> None: ...


class SyncOperations(OperationMethods[Job], RunsSync):
    """Operations whose results are returned directly."""

    @runs_operation
    def run(self, operation: Operation[T]) -> T:
        """Run one operation of `kairos.operations`, then send its notifications."""
        outbox = Outbox()
        answer = drive_sync(operation, self._execute, outbox)
        self._send(outbox)
        return answer

    @property
    def schedules(self) -> SyncSchedules:
        """The operations on schedules."""
        return SyncSchedules(self.run, self.calendars)

    @abstractmethod
    def _execute(self, query: Query) -> Sequence[Row]: ...

    @abstractmethod
    def _send(self, outbox: Outbox) -> None: ...


class _UserConnection:
    """A user's own connection, and how to run a statement on it."""

    def __init__(self, registry: Registry, sql: Mapping[str, str], execute: Execute, hint: bool) -> None:
        self.registry = registry
        self.declared: list[Declared] = []
        self._sql = sql
        self._on = execute
        self._hint = hint

    def _explain(self, error: Exception) -> None:
        """Raise the error in our words if the database lacks the schema."""
        from kairos.store.schema_state import raise_if_unmigrated

        raise_if_unmigrated(error)


class AsyncOnConnection(_UserConnection, AsyncOperations):
    """The operations on a user's own async connection, inside its transaction, whose commit notifies the workers."""

    async def _execute(self, query: Query) -> Sequence[Row]:
        try:
            rows: Sequence[Row] = await self._on(self._sql[query.name], query.params)  # type: ignore[misc]
        except Exception as error:
            self._explain(error)
            raise
        return rows

    async def _send(self, outbox: Outbox) -> None:
        if self._hint:
            for query in outbox.take().queries():
                await self._execute(query)


class SyncOnConnection(_UserConnection, SyncOperations):
    """The operations on a user's own sync connection, inside its transaction, whose commit notifies the workers."""

    def _execute(self, query: Query) -> Sequence[Row]:
        try:
            rows: Sequence[Row] = self._on(self._sql[query.name], query.params)  # type: ignore[assignment]
        except Exception as error:
            self._explain(error)
            raise
        return rows

    def _send(self, outbox: Outbox) -> None:
        if self._hint:
            for query in outbox.take().queries():
                self._execute(query)
