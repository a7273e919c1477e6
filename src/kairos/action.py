"""An action as callers use it: options and arguments are validated before anything is stored."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypedDict, Unpack, overload

from typing_extensions import TypeVar

from kairos import operations, other_libraries
from kairos.durations import Duration
from kairos.errors import BadArguments
from kairos.fsm.lifecycle import Status
from kairos.machine.backoff import Backoff
from kairos.machine.call import OPTION_NAMES, Call, Options, make_call
from kairos.machine.definition import Machine
from kairos.shapes.job import Job
from kairos.suggest import did_you_mean

if TYPE_CHECKING:
    from kairos.chain import Chain

P = ParamSpec("P")
J = TypeVar("J", covariant=True)  # a job, or something that becomes one when awaited
R = TypeVar("R", covariant=True, default=Any)  # what the function returns
R2 = TypeVar("R2")


class DeclaredOptions(TypedDict, total=False):
    """Options that a declaration sets for every job of an action."""

    priority: int
    run_at: datetime | None
    delay: Duration | None
    when: str | None
    tz: str
    expires_at: datetime | None
    key: str | Callable[..., str] | None
    ordered: bool
    unique: str | None
    unique_scope: str | Sequence[Status | str]
    if_taken: str
    reply_to: tuple[int, str] | None
    tags: Sequence[str]
    max_reaps: int


class CallOptions(DeclaredOptions, total=False):
    """Options that a caller may set for one job."""

    queue: str | None
    retry: Backoff | None
    ttl: Duration | None


class Client(Protocol):
    """The methods of an app that an action uses; they return values or awaitables."""

    enqueue: Any
    result_of: Any


class Action(Generic[P, J, R]):
    """A registered machine, ready to be called: `options(...)` sets how, `enqueue(...)` with which arguments."""

    def __init__(self, machine: Machine, client: Client, options: Options, target: Any = None) -> None:
        self.machine = machine
        self.target = target
        self._client = client
        self._options = options

    @property
    def name(self) -> str:
        return self.machine.name

    def options(self, **changes: Unpack[CallOptions]) -> Action[P, J, R]:
        """Return the action with other scheduling options, which never mix with its arguments."""
        return Action(self.machine, self._client, choose(self._options, changes), self.target)

    @property
    def chosen(self) -> Options:
        """The scheduling options of its jobs."""
        return self._options

    def then(self, action: Action[..., Any, R2], /, **given: Any) -> Chain[P, J, R2]:
        """Return a chain that runs this action, and then `action` with the result of this one.

        The result becomes the first argument of `action` that is not among `given`.
        """
        from kairos.chain import Chain

        return Chain(self, self.machine, (), self._client).then(action, **given)

    def call(self, /, *args: P.args, **kwargs: P.kwargs) -> Call:
        """Validate the arguments and return the call as a value."""
        return make_call(self.machine, _arguments(self.machine, args, kwargs), self._options)

    def enqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> J:
        """Enqueue a job; with an async app, await the result."""
        job: J = self._client.enqueue(self.call(*args, **kwargs))
        return job

    @overload
    def result(
        self: Action[P, Coroutine[Any, Any, Job], R], job: Job | int, timeout: Duration | None = None
    ) -> Coroutine[Any, Any, R]: ...
    @overload
    def result(self: Action[P, Job, R], job: Job | int, timeout: Duration | None = None) -> R: ...
    def result(self, job: Job | int, timeout: Duration | None = None) -> Any:
        """Wait for a job of this action to end, and return what the function returned, as the type it declares."""
        return self._client.result_of(self.machine, job.id if isinstance(job, Job) else job, timeout)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the decorated function or class directly."""
        return self.target(*args, **kwargs)

    if not TYPE_CHECKING:  # a type checker refuses unknown names by itself

        def __getattr__(self, name: str) -> Any:
            meant = other_libraries.ACTION.get(name)
            raise other_libraries.missing_attribute(
                self, "An action", name, meant and meant.format(self.name)
            )

    def __repr__(self) -> str:
        return f"<Action {self.machine.name} v{self.machine.version}>"


def choose(base: Options, changes: Mapping[str, Any]) -> Options:
    """Return the options with some changed; raises for names that do not exist or that callers may not set."""
    for name in changes:
        if name not in OPTION_NAMES:
            meant = other_libraries.OPTIONS.get(name)
            hint = f" Write {meant}." if meant else did_you_mean(name, OPTION_NAMES)
            raise BadArguments(f"There is no option {name!r}.{hint}", field=name)
    options = replace(base, **changes)
    if "when" in changes and options.when is not None:
        operations.instant(options, datetime.now(UTC))  # a bad time in words fails here, not at the insert
    return options


def _arguments(machine: Machine, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Mapping[str, Any]:
    """Map positional arguments to names in the machine's order; a single state object is used as it is."""
    if not args:
        return kwargs
    if not machine.plain:
        if len(args) == 1 and not kwargs and hasattr(args[0], "model_dump"):
            state: Mapping[str, Any] = args[0].model_dump(exclude_unset=True)
            return state
        raise BadArguments(f"{machine.name} takes its state by name, or one state object.")
    names = names_of(machine)
    if len(args) > len(names):
        raise BadArguments(f"{machine.name} takes {len(names)} arguments, not {len(args)}.")
    given = dict(zip(names, args, strict=False))
    if twice := set(given) & set(kwargs):
        raise BadArguments(f"{machine.name} got {min(twice)!r} twice.", field=min(twice))
    return {**given, **kwargs}


def names_of(machine: Machine) -> list[str]:
    """Return the names of a function's arguments, in their order."""
    step = machine.steps[machine.initial]
    return list(inspect.signature(step.call).parameters)[1 if machine.takes_context else 0 :]
