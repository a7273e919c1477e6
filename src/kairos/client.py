"""The face people program against: the verbs, bound to a way of running statements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, Unpack, overload

from kairos import verbs
from kairos.action import Action, J, Standing, choose
from kairos.answered import Awaiting, Blocking, answered
from kairos.durations import Duration
from kairos.fsm.lifecycle import Verb as Change
from kairos.machine.call import Call, Options
from kairos.machine.context import Context
from kairos.machine.definition import Handle, Machine
from kairos.machine.names import check_name
from kairos.machine.reading import read_class, read_function
from kairos.machine.registry import Registry
from kairos.schedules import AsyncSchedules, Schedules, SyncSchedules
from kairos.store.foreign import Execute
from kairos.store.query import HINTS, Query, Row, Verb, drive, drive_sync
from kairos.store.rows import HistoryRow, Job, LogRow, Queue, SignalRow, WorkerRow
from kairos.store.schedules import Calendars
from kairos.verbs.alarms import Alarm
from kairos.verbs.declared import Declared
from kairos.verbs.schedule_options import ScheduleOptions, check_call
from kairos.verbs.schedules import NONE as NO_CALENDARS
from kairos.verbs.schedules import check_intent

P = ParamSpec("P")
T = TypeVar("T")
Rate: TypeAlias = tuple[int, Duration]


class Decorator(Protocol[J]):
    """Takes a function, with or without a context before its arguments."""

    @overload
    def __call__(self, function: Callable[Concatenate[Context[Any], P], Any], /) -> Action[P, J]: ...
    @overload
    def __call__(self, function: Callable[P, Any], /) -> Action[P, J]: ...


class Face(ABC, Generic[J]):
    """Every verb, once. `run` decides whether an answer is a value or something to await."""

    registry: Registry
    declared: list[Declared]
    calendars: Calendars = NO_CALENDARS

    @abstractmethod
    def run(self, verb: Verb[Any]) -> Any:
        """Run one verb of `kairos.verbs`."""

    @property
    @abstractmethod
    def schedules(self) -> Schedules:
        """The verbs of schedules."""

    # What users declare

    @overload
    def job(self, function: Callable[Concatenate[Context[Any], P], Any], /) -> Action[P, J]: ...
    @overload
    def job(self, function: Callable[P, Any], /) -> Action[P, J]: ...
    @overload
    def job(
        self,
        *,
        name: str | None = ...,
        version: int = ...,
        queue: str = ...,
        retry: Handle | None = ...,
        ttl: Duration | None = ...,
        timeout: Duration | None = ...,
        runs_in: str | None = ...,
        redact: Sequence[str] = ...,
        capture: bool = ...,
        **options: Unpack[Standing],
    ) -> Decorator[J]: ...
    def job(  # type: ignore[misc]  # mypy does not see that **options takes an unpacked TypedDict
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        version: int = 1,
        queue: str = "default",
        retry: Handle | None = None,
        ttl: Duration | None = None,
        timeout: Duration | None = None,
        runs_in: str | None = None,
        redact: Sequence[str] = (),
        capture: bool = False,
        **options: Any,
    ) -> Any:
        """Register a function as an action; what is returned enqueues it."""

        def register(target: Callable[..., Any]) -> Action[..., J]:
            machine = read_function(
                target,
                name=name or target.__name__,
                version=version,
                queue=queue,
                ttl=ttl,
                timeout=timeout,
                runs_in=runs_in,
                redact=redact,
                retry=retry,
                capture=capture,
            )
            return self._register(machine, target, options)

        return register if function is None else register(function)

    def machine(
        self,
        name: str,
        *,
        version: int = 1,
        queue: str = "default",
        retry: Handle | None = None,
        ttl: Duration | None = None,
        timeout: Duration | None = None,
        run_ahead: bool = True,
        redact: Sequence[str] = (),
        capture: bool = False,
        **options: Unpack[Standing],
    ) -> Callable[[type], Action[..., J]]:
        """Register a class with `@step` methods as an action."""

        def register(target: type) -> Action[..., J]:
            machine = read_class(
                target,
                name=name,
                version=version,
                queue=queue,
                ttl=ttl,
                timeout=timeout,
                run_ahead=run_ahead,
                redact=redact,
                retry=retry,
                capture=capture,
            )
            return self._register(machine, target, options)

        return register

    def schedule(
        self,
        when: str,
        *,
        name: str | None = None,
        input: Mapping[str, Any] | None = None,  # noqa: A002 (the word the API uses)
        **options: Any,
    ) -> Callable[[Action[P, J]], Action[P, J]]:
        """Declare that an action runs on a schedule: `@app.schedule("every weekday at 9am in London")`.

        It is put into the database when a worker starts. `input` are the action's arguments.
        """
        policies = ScheduleOptions.of(options)
        check_intent(when, policies.tz, self.calendars)

        def declare(action: Action[P, J]) -> Action[P, J]:
            check_name(name or action.name, "name")
            arguments = dict(input or {})
            call: Callable[..., Call] = action.call
            # Wrong arguments and options are refused here, not at the first tick.
            check_call(call(**arguments))
            self.declared.append(Declared(name or action.name, when, lambda: call(**arguments), policies))
            return action

        return declare

    def _register(self, machine: Machine, target: Any, options: Mapping[str, Any]) -> Action[..., J]:
        chosen = choose(Options(), options)
        self.registry.add(machine, chosen)
        return Action(machine, self.enqueue, chosen, target)

    def action(self, name: str) -> Action[..., J]:
        """The newest version of an action by name."""
        machine = self.registry.latest(name)
        return Action(machine, self.enqueue, self.registry.options(machine))

    # What can be asked

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
