"""A machine as the engine sees it, read once from the class or function a person wrote."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from kairos import codec
from kairos.durations import Duration, duration
from kairos.errors import BadArguments, BadDefinition
from kairos.fsm.spec import Edge, Spec
from kairos.machine.context import Context

F = TypeVar("F", bound=Callable[..., Any])
Handle = Callable[[Exception, Context[Any]], Any]

_MARK = "__kairos_step__"
_PLACES = ("async", "thread", "process")


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what to call, where it runs, how long it may take and where it may lead."""

    name: str
    call: Callable[..., Any]
    runs_in: str
    timeout: timedelta | None
    leads_to: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Machine:
    """A named, versioned machine. `plain` marks a function: one step, whose value is its result."""

    name: str
    version: int
    queue: str
    initial: str
    steps: Mapping[str, Step]
    state: TypeAdapter[Any]
    handle: Handle | None
    ttl: timedelta | None
    run_ahead: bool
    redact: frozenset[str]
    spec: Spec
    plain: bool = False
    takes_context: bool = True

    def first_state(self, values: Mapping[str, Any]) -> str:
        """The arguments of a call as the machine's first state, or `BadArguments` with the field named."""
        try:
            # By fields, as if they came from JSON: what is stored is what a step will read back.
            state = self.state.validate_python(dict(values))
        except ValidationError as error:
            raise BadArguments(_why(self.name, error), field=_field(error)) from error
        return self.dump(state)

    def dump(self, state: Any) -> str:
        """A state as JSON text, by the machine's own type and the strict codec."""
        return codec.dumps(self.state.dump_python(state, mode="json", warnings="error"), "state")

    def load(self, text: str) -> Any:
        return self.state.validate_json(text)


@overload
def step(function: F) -> F: ...
@overload
def step(
    *,
    initial: bool = False,
    to: Sequence[str] | None = None,
    timeout: Duration | None = None,
    runs_in: str | None = None,
) -> Callable[[F], F]: ...
def step(
    function: F | None = None,
    *,
    initial: bool = False,
    to: Sequence[str] | None = None,
    timeout: Duration | None = None,
    runs_in: str | None = None,
) -> F | Callable[[F], F]:
    """Mark a method as a step of its machine.

    `to` names the steps it may go on with: they are drawn, and any other is refused. `runs_in` is
    "async" for `async def` and "thread" for `def` unless it says "process".
    """

    def mark(method: F) -> F:
        setattr(method, _MARK, (initial, to, timeout, runs_in))
        return method

    return mark if function is None else mark(function)


def read_class(
    cls: type,
    *,
    name: str,
    version: int,
    queue: str,
    ttl: Duration | None,
    timeout: Duration | None,
    run_ahead: bool,
    redact: Sequence[str],
    retry: Handle | None,
) -> Machine:
    """Turn a class with `@step` methods into a machine, refusing what could never run."""
    instance = cls()
    steps: dict[str, Step] = {}
    initial: list[str] = []
    for method_name, method in inspect.getmembers(cls, inspect.isfunction):
        if (marked := getattr(method, _MARK, None)) is None:
            continue
        first, leads_to, own_timeout, runs_in = marked
        steps[method_name] = Step(
            name=method_name,
            call=getattr(instance, method_name),
            runs_in=_place(method, runs_in),
            timeout=_timeout(own_timeout if own_timeout is not None else timeout),
            leads_to=None if leads_to is None else tuple(leads_to),
        )
        if first:
            initial.append(method_name)
    if not steps:
        raise BadDefinition(f"Machine {name!r} has no steps: mark its methods with @step.")
    if len(steps) == 1 and not initial:
        initial = list(steps)
    if len(initial) != 1:
        raise BadDefinition(f"Machine {name!r} needs exactly one @step(initial=True); it has {len(initial)}.")
    handle = getattr(instance, "handle", None) or retry
    spec = _spec(name, initial[0], steps)
    return Machine(
        name=name,
        version=version,
        queue=queue,
        initial=initial[0],
        steps=steps,
        state=TypeAdapter(getattr(cls, "State", dict[str, Any])),
        handle=handle,
        ttl=None if ttl is None else duration(ttl, "ttl"),
        run_ahead=run_ahead,
        redact=frozenset(redact),
        spec=spec,
    )


def read_function(
    function: Callable[..., Any],
    *,
    name: str,
    version: int,
    queue: str,
    ttl: Duration | None,
    timeout: Duration | None,
    runs_in: str | None,
    redact: Sequence[str],
    retry: Handle | None,
) -> Machine:
    """Turn a function into a machine of one step, typed by its signature."""
    parameters, takes_context = _parameters(function, name)
    fields: dict[str, Any] = {
        parameter.name: (
            Any if parameter.annotation is inspect.Parameter.empty else parameter.annotation,
            ... if parameter.default is inspect.Parameter.empty else parameter.default,
        )
        for parameter in parameters
    }
    model: type[BaseModel] = create_model(f"{name}_arguments", __config__=_STRICT_FIELDS, **fields)
    only = Step(
        name="run",
        call=function,
        runs_in=_place(function, runs_in),
        timeout=_timeout(timeout),
        leads_to=None,
    )
    return Machine(
        name=name,
        version=version,
        queue=queue,
        initial=only.name,
        steps={only.name: only},
        state=TypeAdapter(model),
        handle=retry,
        ttl=None if ttl is None else duration(ttl, "ttl"),
        run_ahead=False,
        redact=frozenset(redact),
        spec=_spec(name, only.name, {only.name: only}),
        plain=True,
        takes_context=takes_context,
    )


_STRICT_FIELDS = ConfigDict(extra="forbid", arbitrary_types_allowed=False, protected_namespaces=())


def _parameters(function: Callable[..., Any], name: str) -> tuple[list[inspect.Parameter], bool]:
    try:
        hints = get_type_hints(function)
    except NameError as error:
        raise BadDefinition(f"Job {name!r} has a type that cannot be found: {error}.") from error
    parameters = [
        parameter.replace(annotation=hints.get(parameter.name, parameter.annotation))
        for parameter in inspect.signature(function).parameters.values()
    ]
    takes_context = bool(parameters) and _is_context(parameters[0])
    arguments = parameters[1:] if takes_context else parameters
    for parameter in arguments:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise BadDefinition(f"Job {name!r}: argument {parameter.name!r} must be a named one.")
    return arguments, takes_context


def _is_context(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    origin = getattr(annotation, "__origin__", annotation)
    return origin is Context or (annotation is inspect.Parameter.empty and parameter.name == "ctx")


def _place(function: Callable[..., Any], wanted: str | None) -> str:
    is_async = inspect.iscoroutinefunction(function)
    place = wanted or ("async" if is_async else "thread")
    if place not in _PLACES:
        raise BadDefinition(f"runs_in is {place!r}; it is one of {', '.join(_PLACES)}.")
    if is_async != (place == "async"):
        kind = "an async def" if is_async else "a plain def"
        raise BadDefinition(f"{function.__qualname__} is {kind} and cannot run in {place!r}.")
    return place


def _timeout(value: Duration | None) -> timedelta | None:
    return None if value is None else duration(value, "timeout")


def _spec(name: str, initial: str, steps: Mapping[str, Step]) -> Spec:
    """The machine as a drawing: a step that names no `to` may lead anywhere, so nothing is drawn or checked."""
    declared = [s for s in steps.values() if s.leads_to is not None]
    edges = tuple(Edge("next", s.name, target) for s in declared for target in s.leads_to or ())
    spec = Spec(
        name=name,
        states=tuple(sorted(steps, key=lambda state: state != initial)),
        initial=(initial,),
        terminal=frozenset(s.name for s in steps.values() if not s.leads_to),
        edges=edges,
    )
    unknown = [target for edge in edges if (target := edge.target) not in steps]
    if unknown:
        raise BadDefinition(f"Machine {name!r} leads to {unknown[0]!r}, which is not one of its steps.")
    return spec


def _field(error: ValidationError) -> str | None:
    location = error.errors()[0]["loc"]
    return ".".join(str(part) for part in location) or None


def _why(name: str, error: ValidationError) -> str:
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    where = f"argument {field!r}" if field else "arguments"
    return f"{name}: {where}: {first['msg']}."
