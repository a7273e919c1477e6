"""The face people program against: the verbs, bound to a way of running statements."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from kairos import verbs
from kairos.durations import Duration
from kairos.errors import BadArguments
from kairos.fsm.lifecycle import Verb as Change
from kairos.machine.call import ORIGIN, Call, Options
from kairos.machine.definition import Handle, Machine
from kairos.machine.names import check_name
from kairos.machine.reading import read_class, read_function
from kairos.machine.registry import Registry
from kairos.schedules import Schedules
from kairos.store.foreign import Execute
from kairos.store.query import Query, Row, Verb, drive, drive_sync
from kairos.store.rows import Job
from kairos.store.schedules import Calendars
from kairos.verbs.declared import Declared
from kairos.verbs.schedule_options import ScheduleOptions, check_call
from kairos.verbs.schedules import NONE as NO_CALENDARS
from kairos.verbs.schedules import check_intent

T = TypeVar("T")


class Action:
    """A registered machine, ready to be called: `options(...)` says how, `enqueue(...)` with what."""

    def __init__(self, machine: Machine, face: Face, options: Options, target: Any) -> None:
        self.machine = machine
        self.target = target
        self._face = face
        self._options = options

    @property
    def name(self) -> str:
        return self.machine.name

    def options(self, **changes: Any) -> Action:
        """The same action with other scheduling options; they never mix with its arguments."""
        return Action(self.machine, self._face, _options(self._options, changes), self.target)

    def call(self, /, *args: Any, **kwargs: Any) -> Call:
        """The call as a value, its arguments checked now."""
        return make_call(self.machine, _arguments(self.machine, args, kwargs), self._options)

    def enqueue(self, /, *args: Any, **kwargs: Any) -> Any:
        """Accept a job; await the answer when the app is async."""
        return self._face.enqueue(self.call(*args, **kwargs))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call what was decorated, as if it had not been."""
        return self.target(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Action {self.machine.name} v{self.machine.version}>"


class Face(ABC):
    """Every verb, once. `run` decides whether an answer is a value or something to await."""

    registry: Registry
    declared: list[Declared]
    calendars: Calendars = NO_CALENDARS

    @abstractmethod
    def run(self, verb: Verb[Any]) -> Any:
        """Run one verb of `kairos.verbs`."""

    # What users declare

    def job(
        self,
        function: Callable[..., Any] | None = None,
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

        def register(target: Callable[..., Any]) -> Action:
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
        **options: Any,
    ) -> Callable[[type], Action]:
        """Register a class with `@step` methods as an action."""

        def register(target: type) -> Action:
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
    ) -> Callable[[Action], Action]:
        """Declare that an action runs on a schedule: `@app.schedule("every weekday at 9am in London")`.

        It is put into the database when a worker starts. `input` are the action's arguments.
        """
        policies = ScheduleOptions.of(options)
        check_intent(when, policies.tz, self.calendars)

        def declare(action: Action) -> Action:
            check_name(name or action.name, "name")
            arguments = dict(input or {})
            # Wrong arguments and options are refused here, not at the first tick.
            check_call(action.call(**arguments))
            self.declared.append(
                Declared(name or action.name, when, lambda: action.call(**arguments), policies)
            )
            return action

        return declare

    @property
    def schedules(self) -> Schedules:
        """The verbs of schedules."""
        return Schedules(self.run, self.calendars)

    def _register(self, machine: Machine, target: Any, options: Mapping[str, Any]) -> Action:
        chosen = _options(Options(), options)
        self.registry.add(machine, chosen)
        return Action(machine, self, chosen, target)

    def action(self, name: str) -> Action:
        """The newest version of an action by name."""
        machine = self.registry.latest(name)
        return Action(machine, self, self.registry.options(machine), None)

    # What can be asked

    def enqueue(self, call: Call) -> Any:
        """Accept one job."""
        return self.run(self._jobs(verbs.enqueue(call)))

    def enqueue_many(self, calls: Iterable[Call]) -> Any:
        """Accept many jobs in one statement; each answer tells by `is_new` whether it was there already."""
        return self.run(self._jobs(verbs.enqueue_many(calls)))

    def get(self, job_id: int) -> Any:
        """One job as it is now."""
        return self.run(self._jobs(verbs.get(job_id)))

    def jobs(self, **filters: Any) -> Any:
        """Jobs, newest first: `state`, `action`, `queue`, `key`, `tag`, `before`, `limit`."""
        return self.run(self._jobs(verbs.list_jobs(**filters)))

    def history(self, job_id: int) -> Any:
        """Everything that was committed for one job, in order."""
        return self.run(verbs.history(job_id))

    def logs(self, job_id: int, *, after: int = 0, limit: int = 1000) -> Any:
        """What the steps of one job said, in order; go on with `after` set to the last cursor of the page."""
        return self.run(verbs.logs(job_id, after=after, limit=limit))

    def signals(self, job_id: int) -> Any:
        """Everything that was ever sent to one job."""
        return self.run(verbs.signals(job_id))

    def signal(
        self, target: int | str, name: str, payload: Any = None, *, dedup_key: str | None = None
    ) -> Any:
        """Send a signal to a job, by id or by the unique key it holds."""
        return self.run(verbs.signal(target, name, payload, dedup_key=dedup_key))

    def cancel(self, job_id: int, *, reason: str | None = None) -> Any:
        """Cancel a job before it runs, or ask a running one to stop."""
        return self.run(self._jobs(verbs.cancel(job_id, reason=reason)))

    def run_now(self, job_id: int) -> Any:
        """Bring a scheduled job's time forward to now."""
        return self.run(self._jobs(verbs.run_now(job_id)))

    def retry(self, job_id: int) -> Any:
        """Make a new job from one that ended."""
        return self.run(self._jobs(self.retrying(job_id)))

    def result(self, job_id: int, timeout: Duration | None = None) -> Any:
        """Wait for a job to end and return its output; any other end raises `JobFailed`."""
        return self.run(verbs.result(job_id, timeout=timeout))

    def queues(self) -> Any:
        """Every queue that has live work or settings."""
        return self.run(verbs.queues())

    def pause(self, queue: str) -> Any:
        """Stop picking from a queue."""
        return self.run(verbs.pause(queue))

    def resume(self, queue: str) -> Any:
        """Pick from a queue again."""
        return self.run(verbs.resume(queue))

    def limit(self, queue: str, **limits: Any) -> Any:
        """Set a queue's limits over all workers: `concurrency`, `rate`, `key_concurrency`, `key_rate`."""
        return self.run(verbs.limit(queue, **limits))

    def workers(self) -> Any:
        """The workers that are there."""
        return self.run(verbs.workers())

    def alarms(self, **filters: Any) -> Any:
        """The alarms that are open, newest first: `all` adds those that were cleared; `before`, `limit`."""
        return self.run(verbs.alarms(**filters))

    def acknowledge(self, alarm_id: int, *, actor: str | None = None) -> Any:
        """Say that somebody has seen an alarm; what happened is cleared by that."""
        return self.run(verbs.acknowledge(alarm_id, actor=actor))

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


class AsyncFace(Face):
    """A face whose answers are awaited."""

    async def run(self, verb: Verb[T]) -> T:
        """Run one verb of `kairos.verbs`."""
        return await drive(verb, self._execute)

    @abstractmethod
    async def _execute(self, query: Query) -> Sequence[Row]: ...


class SyncFace(Face):
    """A face whose answers are values."""

    def run(self, verb: Verb[T]) -> T:
        """Run one verb of `kairos.verbs`."""
        return drive_sync(verb, self._execute)

    @abstractmethod
    def _execute(self, query: Query) -> Sequence[Row]: ...


class AsyncOn(AsyncFace):
    """The verbs on someone's own async connection, inside its transaction."""

    def __init__(self, registry: Registry, sql: Mapping[str, str], execute: Execute) -> None:
        self.registry = registry
        self.declared = []
        self._sql = sql
        self._on = execute

    async def _execute(self, query: Query) -> Sequence[Row]:
        return await self._on(self._sql[query.name], query.params)  # type: ignore[misc, no-any-return]


class SyncOn(SyncFace):
    """The verbs on someone's own sync connection, inside its transaction."""

    def __init__(self, registry: Registry, sql: Mapping[str, str], execute: Execute) -> None:
        self.registry = registry
        self.declared = []
        self._sql = sql
        self._on = execute

    def _execute(self, query: Query) -> Sequence[Row]:
        return self._on(self._sql[query.name], query.params)  # type: ignore[return-value]


def make_call(machine: Machine, arguments: Mapping[str, Any], options: Options) -> Call:
    """A checked call of a machine."""
    return Call(
        action=machine.name,
        version=machine.version,
        step=machine.initial,
        state=machine.first_state(arguments),
        queue=options.queue or machine.queue,
        ttl=machine.ttl,
        options=options,
        redact=tuple(sorted(machine.redact)),
    )


def _options(base: Options, changes: Mapping[str, Any]) -> Options:
    if internal := ORIGIN & changes.keys():
        raise BadArguments(f"There is no such option: {min(internal)}.")
    try:
        options = replace(base, **changes)
    except (TypeError, ValueError) as error:
        raise BadArguments(f"There is no such option: {error}.") from error
    if "when" in changes and options.when is not None:
        verbs.instant(options, datetime.now(UTC))  # refused here rather than when it is accepted
    return options


def _arguments(machine: Machine, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Mapping[str, Any]:
    """Positional arguments by the machine's own order; a single state object as it is."""
    if not args:
        return kwargs
    if not machine.plain:
        if len(args) == 1 and not kwargs and hasattr(args[0], "model_dump"):
            state: Mapping[str, Any] = args[0].model_dump()
            return state
        raise BadArguments(f"{machine.name} takes its state by name, or one state object.")
    step = machine.steps[machine.initial]
    names = list(inspect.signature(step.call).parameters)[1 if machine.takes_context else 0 :]
    if len(args) > len(names):
        raise BadArguments(f"{machine.name} takes {len(names)} arguments, not {len(args)}.")
    given = dict(zip(names, args, strict=False))
    if twice := set(given) & set(kwargs):
        raise BadArguments(f"{machine.name} got {min(twice)!r} twice.", field=min(twice))
    return {**given, **kwargs}


class Poker:
    """Coalesces hints to workers: the first goes out at once, then at most one per 2 ms for any number of jobs."""

    def __init__(self, send: Callable[[list[str]], Any]) -> None:
        self._send = send
        self._queues: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    def poke(self, queues: Iterable[str]) -> None:
        self._queues.update(queues)
        if self._queues and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._drain())

    async def close(self) -> None:
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _drain(self) -> None:
        while self._queues:
            queues, self._queues = sorted(self._queues), set()
            await self._send(queues)
            await asyncio.sleep(0.002)
