"""The decorators `@app.job`, `@app.machine` and `@app.schedule`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeAlias, Unpack, overload

from kairos.action import Action, DeclaredOptions, J, R, choose
from kairos.durations import Duration
from kairos.errors import BadArguments, BadDefinition
from kairos.machine.call import Call, Options
from kairos.machine.context import Context
from kairos.machine.definition import MARK, Handle, Machine
from kairos.machine.field_checks import check_name
from kairos.machine.from_code import Declaration, read_class, read_function
from kairos.machine.hooks import HookDecorators, Hooks
from kairos.machine.registry import Registry
from kairos.operations.declared_schedules import Declared
from kairos.operations.queues_and_workers import check_limits
from kairos.operations.schedule_options import ScheduleOptions, check_call
from kairos.operations.schedules import NONE as NO_CALENDARS
from kairos.operations.schedules import check_intent
from kairos.store.schedule_rows import Calendars
from kairos.suggest import did_you_mean

P = ParamSpec("P")
# Functions whose first argument is the context of their job.
InContext: TypeAlias = Callable[Concatenate[Context[Any], P], R]
AsyncInContext: TypeAlias = Callable[Concatenate[Context[Any], P], Coroutine[Any, Any, R]]


class ActionOptions(DeclaredOptions, total=False):
    """The options of `@app.job` and `@app.machine`, besides those of each of its jobs.

    Jobs are found by the value of the arguments in `search`. With `keep_states` the history holds the state after each
    step. `concurrency` and `rate` limit its jobs over all workers: they are the limits of its queue, which has the
    action's name unless `queue` is given.
    """

    version: int
    queue: str
    retry: Handle | None
    ttl: Duration | None
    timeout: Duration | None
    redact: Sequence[str]
    capture: bool
    search: Sequence[str]
    keep_states: bool
    concurrency: int | None
    rate: tuple[int, Duration] | None


class Decorator(Protocol[J]):
    """Takes a function, async or not, with or without a context before its arguments."""

    @overload
    def __call__(self, function: AsyncInContext[P, R], /) -> Action[P, J, R]: ...
    @overload
    def __call__(self, function: InContext[P, R], /) -> Action[P, J, R]: ...
    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Action[P, J, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Action[P, J, R]: ...


class Decorators(HookDecorators, Generic[J]):
    """The decorators of an app, and the actions that they registered."""

    registry: Registry
    declared: list[Declared]
    calendars: Calendars = NO_CALENDARS
    enqueue: Any  # sync or async
    result_of: Any

    @overload
    def job(self, function: AsyncInContext[P, R], /) -> Action[P, J, R]: ...
    @overload
    def job(self, function: InContext[P, R], /) -> Action[P, J, R]: ...
    @overload
    def job(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Action[P, J, R]: ...
    @overload
    def job(self, function: Callable[P, R], /) -> Action[P, J, R]: ...
    @overload
    def job(
        self, *, name: str | None = ..., runs_in: str | None = ..., **options: Unpack[ActionOptions]
    ) -> Decorator[J]: ...
    def job(  # type: ignore[misc]  # mypy does not see that **options takes an unpacked TypedDict
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        runs_in: str | None = None,
        **options: Any,
    ) -> Any:
        """Register a function as an action, and return the action; its name is that of the function by default.

        `ActionOptions` lists the other options.
        """

        def register(target: Callable[..., Any]) -> Action[..., J]:
            _check_target(target, "@app.job", inspect.isroutine(target), "a function")
            if isinstance(target, classmethod):
                raise BadDefinition(
                    f"@app.job decorates {_called(target)}, a class method: decorate a function outside of a class."
                )
            if not name and target.__name__ == "<lambda>":
                raise BadDefinition(
                    "@app.job decorates a lambda, which has no name: give it one, name=…, or use def."
                )
            declared = _declaration(name or target.__name__, options)
            return self._register(read_function(target, declared, runs_in=runs_in), target, options)

        return register if function is None else register(function)

    @property
    def hooks(self) -> Hooks:
        return self.registry.hooks

    def machine(
        self, name: str = "", *, run_ahead: bool = True, **options: Unpack[ActionOptions]
    ) -> Callable[[type], Action[..., J]]:
        """Register a class with `@step` methods as an action; `ActionOptions` lists the options."""
        if not name:
            raise BadDefinition('@app.machine has no name: write @app.machine("order").')
        if inspect.isclass(name):
            raise BadDefinition(
                f"@app.machine decorates {_called(name)} without a name: write "
                f'@app.machine("{name.__name__.lower()}").'
            )
        declared = _declaration(name, options)

        def register(target: type) -> Action[..., J]:
            _check_target(target, "@app.machine", inspect.isclass(target), "a class with @step methods")
            machine = read_class(target, declared, run_ahead=run_ahead)
            return self._register(machine, target, options)

        return register

    def schedule(
        self,
        when: str = "",
        *,
        name: str | None = None,
        input: Mapping[str, Any] | None = None,  # noqa: A002 (the word the API uses)
        **options: Any,
    ) -> Callable[[Action[P, J, R]], Action[P, J, R]]:
        """Declare that an action runs on a schedule: `@app.schedule("every weekday at 9am in London")`.

        A worker saves the schedule to the database when it starts. `input` holds the action's arguments.
        """
        if callable(when):
            raise BadDefinition(
                f"@app.schedule decorates {_called(when)} without a time: write "
                '@app.schedule("every day at 09:00"), with your own time.'
            )
        policies = ScheduleOptions.of(options)
        if not when:
            raise BadDefinition('@app.schedule has no time: write @app.schedule("every day at 09:00").')
        check_intent(when, policies.tz, self.calendars)

        def declare(action: Action[P, J, R]) -> Action[P, J, R]:
            if not isinstance(action, Action):
                raise BadDefinition(
                    f"@app.schedule decorates {_called(action)}, which is no action yet: write @app.schedule(…) above "
                    "@app.job or @app.machine(…)."
                )
            check_name(name or action.name, "name")
            arguments = dict(input or {})
            call: Callable[..., Call] = action.call
            # Wrong arguments and options fail here, not at the first tick.
            try:
                check_call(call(**arguments))
            except BadArguments as error:
                raise BadArguments(
                    f"{error.message} A schedule gives its arguments as input={{…}}.", field=error.field
                ) from error
            self.declared.append(Declared(name or action.name, when, lambda: call(**arguments), policies))
            return action

        return declare

    def _register(self, machine: Machine, target: Any, options: Mapping[str, Any]) -> Action[..., J]:
        chosen = choose(
            Options(),
            {name: value for name, value in options.items() if name not in _DECLARED and name not in _LIMITS},
        )
        if callable(chosen.key):
            _check_key(machine, chosen.key)
        if _has_limits(options):
            limits = {name: options.get(name) for name in _LIMITS}
            check_limits(machine.queue, limits)
            self.registry.limit(machine, limits)
        self.registry.add(machine, chosen)
        return Action(machine, self, chosen, target)

    def action(self, name: str) -> Action[..., J]:
        """Return the newest version of an action by name."""
        machine = self.registry.latest(name)
        return Action(machine, self, self.registry.options(machine))


_DECLARED = tuple(field.name for field in fields(Declaration) if field.name != "name")
_LIMITS = ("concurrency", "rate")


def _declaration(name: str, options: Mapping[str, Any]) -> Declaration:
    """Return the declaration of an action; one with limits has a queue of its own, unless it names another."""
    declared = Declaration(name, **{each: options[each] for each in _DECLARED if each in options})
    if declared.queue == "default" and _has_limits(options):
        return replace(declared, queue=name)
    return declared


def _has_limits(options: Mapping[str, Any]) -> bool:
    return any(options.get(name) is not None for name in _LIMITS)


def _check_key(machine: Machine, key: Callable[..., str]) -> None:
    """Refuse a key of arguments that the action does not have."""
    for name in inspect.signature(key).parameters if machine.plain else ():
        if name not in machine.arguments:
            raise BadDefinition(
                f"The key of {machine.name!r} asks for {name!r}, which is none of its arguments."
                f"{did_you_mean(name, machine.arguments)}"
            )


def _check_target(target: Any, decorator: str, fits: bool, wanted: str) -> None:
    if isinstance(target, Action):
        raise BadDefinition(
            f"{decorator} decorates {target!r}, which is an action already: leave out one of the decorators."
        )
    if hasattr(target, MARK):
        raise BadDefinition(
            f"{decorator} decorates the step {_called(target)}: @step marks a method of a class under @app.machine(…)."
        )
    if not fits:
        raise BadDefinition(f"{decorator} takes {wanted}, not {_called(target)}.")


def _called(target: Any) -> str:
    return getattr(target, "__qualname__", None) or repr(target)
