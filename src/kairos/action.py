"""An action in the hands of whoever calls it: options and arguments, checked before anything is stored."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Generic, ParamSpec, TypedDict, TypeVar, Unpack

from kairos import verbs
from kairos.durations import Duration
from kairos.errors import BadArguments
from kairos.fsm.lifecycle import Status
from kairos.machine.backoff import Backoff
from kairos.machine.call import ORIGIN, Call, Options
from kairos.machine.definition import Machine

P = ParamSpec("P")
J = TypeVar("J", covariant=True)  # a job, or something that becomes one when awaited


class Standing(TypedDict, total=False):
    """What may be said about every job of an action where it is declared."""

    priority: int
    run_at: datetime | None
    delay: Duration | None
    when: str | None
    tz: str
    expires_at: datetime | None
    key: str | None
    ordered: bool
    unique: str | None
    unique_scope: str | Sequence[Status | str]
    if_taken: str
    reply_to: tuple[int, str] | None
    tags: Sequence[str]
    max_reaps: int


class Chosen(Standing, total=False):
    """What may be said about one job: the names of `Options` that are for people."""

    queue: str | None
    retry: Backoff | None
    ttl: Duration | None


class Action(Generic[P, J]):
    """A registered machine, ready to be called: `options(...)` says how, `enqueue(...)` with what."""

    def __init__(
        self, machine: Machine, enqueue: Callable[[Call], J], options: Options, target: Any = None
    ) -> None:
        self.machine = machine
        self.target = target
        self._enqueue = enqueue
        self._options = options

    @property
    def name(self) -> str:
        return self.machine.name

    def options(self, **changes: Unpack[Chosen]) -> Action[P, J]:
        """The same action with other scheduling options; they never mix with its arguments."""
        return Action(self.machine, self._enqueue, choose(self._options, changes), self.target)

    def call(self, /, *args: P.args, **kwargs: P.kwargs) -> Call:
        """The call as a value, its arguments checked now."""
        return make_call(self.machine, _arguments(self.machine, args, kwargs), self._options)

    def enqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> J:
        """Accept a job; await the answer when the app is async."""
        return self._enqueue(self.call(*args, **kwargs))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call what was decorated, as if it had not been."""
        return self.target(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Action {self.machine.name} v{self.machine.version}>"


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


def choose(base: Options, changes: Mapping[str, Any]) -> Options:
    """The options with some of them changed; a name that is none, or not for people, is refused."""
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
