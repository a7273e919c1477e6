"""The face people program against: the verbs, bound to a way of running statements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from kairos import verbs
from kairos.action import J
from kairos.answered import Awaiting, Blocking, answered
from kairos.declaring import Declaring
from kairos.durations import Duration
from kairos.fsm.lifecycle import Verb as Change
from kairos.machine.call import Call
from kairos.machine.registry import Registry
from kairos.schedules import AsyncSchedules, Schedules, SyncSchedules
from kairos.store.foreign import Execute
from kairos.store.query import HINTS, Query, Row, Verb, drive, drive_sync
from kairos.store.rows import HistoryRow, Job, LogRow, Queue, SignalRow, WorkerRow
from kairos.verbs.alarms import Alarm
from kairos.verbs.declared import Declared

T = TypeVar("T")
Rate: TypeAlias = tuple[int, Duration]


class Face(Declaring[J], ABC):
    """Every verb, once. `run` decides whether an answer is a value or something to await."""

    @abstractmethod
    def run(self, verb: Verb[Any]) -> Any:
        """Run one verb of `kairos.verbs`."""

    @property
    @abstractmethod
    def schedules(self) -> Schedules:
        """The verbs of schedules."""

    @answered
    def enqueue(self, call: Call) -> Verb[Job]:
        """Accept one job."""
        return self._jobs(verbs.enqueue(call))

    @answered
    def enqueue_many(self, calls: Iterable[Call]) -> Verb[list[Job]]:
        """Accept many jobs in one statement; each answer tells by `is_new` whether it was there already."""
        return self._jobs(verbs.enqueue_many(calls))

    @answered
    def get(self, job_id: int) -> Verb[Job]:
        """One job as it is now."""
        return self._jobs(verbs.get(job_id))

    @answered
    def jobs(self, /, **filters: Any) -> Verb[list[Job]]:
        """Jobs, newest first: `state`, `action`, `queue`, `key`, `tag`, `before`, `limit`."""
        return self._jobs(verbs.list_jobs(**filters))

    @answered
    def history(self, job_id: int) -> Verb[list[HistoryRow]]:
        """Everything that was committed for one job, in order."""
        return verbs.history(job_id)

    @answered
    def logs(self, job_id: int, *, after: int = 0, limit: int = 1000) -> Verb[list[LogRow]]:
        """What the steps of one job said, in order; go on with `after` set to the last cursor of the page."""
        return verbs.logs(job_id, after=after, limit=limit)

    @answered
    def signals(self, job_id: int) -> Verb[list[SignalRow]]:
        """Everything that was ever sent to one job."""
        return verbs.signals(job_id)

    @answered
    def signal(
        self, target: int | str, name: str, payload: Any = None, *, dedup_key: str | None = None
    ) -> Verb[str]:
        """Send a signal to a job, by id or by the unique key it holds."""
        return verbs.signal(target, name, payload, dedup_key=dedup_key)

    @answered
    def cancel(self, job_id: int, *, reason: str | None = None) -> Verb[Job]:
        """Cancel a job before it runs, or ask a running one to stop."""
        return self._jobs(verbs.cancel(job_id, reason=reason))

    @answered
    def run_now(self, job_id: int) -> Verb[Job]:
        """Bring a scheduled job's time forward to now."""
        return self._jobs(verbs.run_now(job_id))

    @answered
    def retry(self, job_id: int) -> Verb[Job]:
        """Make a new job from one that ended."""
        return self._jobs(self.retrying(job_id))

    @answered
    def result(self, job_id: int, timeout: Duration | None = None) -> Verb[Any]:
        """Wait for a job to end and return its output; any other end raises `JobFailed`."""
        return verbs.result(job_id, timeout=timeout)

    @answered
    def queues(self) -> Verb[list[Queue]]:
        """Every queue that has live work or settings."""
        return verbs.queues()

    @answered
    def pause(self, queue: str) -> Verb[Queue]:
        """Stop picking from a queue."""
        return verbs.pause(queue)

    @answered
    def resume(self, queue: str) -> Verb[Queue]:
        """Pick from a queue again."""
        return verbs.resume(queue)

    @answered
    def limit(
        self,
        queue: str,
        *,
        concurrency: int | None = None,
        rate: Rate | None = None,
        key_concurrency: int | None = None,
        key_rate: Rate | None = None,
    ) -> Verb[Queue]:
        """Set a queue's limits over all workers; a rate is so many in so long: `(100, "1m")`."""
        return verbs.limit(
            queue,
            concurrency=concurrency,
            rate=rate,
            key_concurrency=key_concurrency,
            key_rate=key_rate,
        )

    @answered
    def workers(self) -> Verb[list[WorkerRow]]:
        """The workers that are there."""
        return verbs.workers()

    @answered
    def alarms(
        self,
        *,
        all: bool = False,  # noqa: A002 (its name in the URL)
        before: int | None = None,
        limit: int = 100,
    ) -> Verb[list[Alarm]]:
        """The alarms that are open, newest first; `all` adds those that were cleared."""
        return verbs.alarms(all=all, before=before, limit=limit)

    @answered
    def acknowledge(self, alarm_id: int, *, actor: str | None = None) -> Verb[Alarm]:
        """Say that somebody has seen an alarm; what happened is cleared by that."""
        return verbs.acknowledge(alarm_id, actor=actor)

    def retrying(self, job_id: int, **origin: Any) -> Verb[Job]:
        """The verb behind `retry`, for those who run it together with others."""
        old = yield from verbs.get(job_id)
        machine = self.registry.find(old.action, old.version)
        if machine is None:
            return (yield from verbs.retry(job_id, **origin))
        return (yield from verbs.retry(job_id, step=machine.initial, ttl=machine.ttl, **origin))

    def _jobs(self, verb: Verb[T]) -> Verb[T]:
        """Let the jobs of an answer `transition` through this face."""
        answer = yield from verb
        if isinstance(answer, Job):
            return answer.bound(self._apply)  # type: ignore[return-value]
        if isinstance(answer, list):
            return [job.bound(self._apply) for job in answer]  # type: ignore[return-value]
        return answer

    def _apply(self, verb: str, job: Job, **details: Any) -> Any:
        change = verbs.cancel if verb == Change.CANCEL else verbs.run_now
        return self.run(self._jobs(change(job.id, **details)))


class AsyncFace(Face[Coroutine[Any, Any, Job]], Awaiting):
    """A face whose answers are awaited."""

    async def run(self, verb: Verb[T]) -> T:
        """Run one verb of `kairos.verbs`."""
        return await drive(verb, self._execute)

    @property
    def schedules(self) -> AsyncSchedules:
        """The verbs of schedules."""
        return AsyncSchedules(self.run, self.calendars)

    @abstractmethod
    async def _execute(self, query: Query) -> Sequence[Row]: ...


class SyncFace(Face[Job], Blocking):
    """A face whose answers are values."""

    def run(self, verb: Verb[T]) -> T:
        """Run one verb of `kairos.verbs`."""
        return drive_sync(verb, self._execute)

    @property
    def schedules(self) -> SyncSchedules:
        """The verbs of schedules."""
        return SyncSchedules(self.run, self.calendars)

    @abstractmethod
    def _execute(self, query: Query) -> Sequence[Row]: ...


class _Own:
    """Someone's own connection, and how to run a statement on it."""

    def __init__(self, registry: Registry, sql: Mapping[str, str], execute: Execute, hint: bool) -> None:
        self.registry = registry
        self.declared: list[Declared] = []
        self._sql = sql
        self._on = execute
        self._hint = hint


class AsyncOn(_Own, AsyncFace):
    """The verbs on someone's own async connection, inside its transaction."""

    async def _execute(self, query: Query) -> Sequence[Row]:
        if query.name in HINTS and not self._hint:
            return ()
        rows: Sequence[Row] = await self._on(self._sql[query.name], query.params)  # type: ignore[misc]
        if query.pokes:
            await self._execute(Query("notify_queues", (sorted(query.pokes),)))
        return rows


class SyncOn(_Own, SyncFace):
    """The verbs on someone's own sync connection, inside its transaction."""

    def _execute(self, query: Query) -> Sequence[Row]:
        if query.name in HINTS and not self._hint:
            return ()
        rows: Sequence[Row] = self._on(self._sql[query.name], query.params)  # type: ignore[assignment]
        if query.pokes:
            self._execute(Query("notify_queues", (sorted(query.pokes),)))
        return rows
