"""What people declare: functions and classes as actions, and the schedules that run them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Unpack, overload

from kairos.action import Action, J, Standing, choose
from kairos.durations import Duration
from kairos.machine.call import Call, Options
from kairos.machine.context import Context
from kairos.machine.definition import Handle, Machine
from kairos.machine.names import check_name
from kairos.machine.reading import read_class, read_function
from kairos.machine.registry import Registry
from kairos.store.schedules import Calendars
from kairos.verbs.declared import Declared
from kairos.verbs.schedule_options import ScheduleOptions, check_call
from kairos.verbs.schedules import NONE as NO_CALENDARS
from kairos.verbs.schedules import check_intent

P = ParamSpec("P")


class Decorator(Protocol[J]):
    """Takes a function, with or without a context before its arguments."""

    @overload
    def __call__(self, function: Callable[Concatenate[Context[Any], P], Any], /) -> Action[P, J]: ...
    @overload
    def __call__(self, function: Callable[P, Any], /) -> Action[P, J]: ...


class Declaring(Generic[J]):
    """The decorators of an app, and the actions that they made."""

    registry: Registry
    declared: list[Declared]
    calendars: Calendars = NO_CALENDARS
    enqueue: Any  # the verb, of whichever world

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
