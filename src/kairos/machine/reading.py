"""Reading machines: from the class or function a person wrote to what the engine runs, once."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, create_model
from pydantic.errors import PydanticUserError

from kairos.durations import Duration, duration
from kairos.errors import BadDefinition, BadRequest
from kairos.fsm.spec import Edge, Spec
from kairos.machine.context import Context
from kairos.machine.definition import MARK, Handle, Machine, Step

_PLACES = ("async", "thread", "process")


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
    capture: bool = False,
) -> Machine:
    """Turn a class with `@step` methods into a machine, refusing what could never run."""
    instance = cls()
    steps: dict[str, Step] = {}
    initial: list[str] = []
    for method_name, method in inspect.getmembers(cls, inspect.isfunction):
        if (marked := getattr(method, MARK, None)) is None:
            continue
        first, leads_to, own_timeout, runs_in, captured = marked
        steps[method_name] = Step(
            name=method_name,
            call=getattr(instance, method_name),
            runs_in=_place(method, runs_in),
            timeout=_timeout(own_timeout if own_timeout is not None else timeout),
            leads_to=None if leads_to is None else tuple(leads_to),
            capture=capture if captured is None else captured,
        )
        if first:
            initial.append(method_name)
    if not steps:
        raise BadDefinition(f"Machine {name!r} has no steps: mark its methods with @step.")
    if len(steps) == 1 and not initial:
        initial = list(steps)
    if len(initial) != 1:
        raise BadDefinition(f"Machine {name!r} needs exactly one @step(initial=True); it has {len(initial)}.")
    handle = _handle(name, getattr(instance, "handle", None), retry)
    spec = _spec(name, initial[0], steps)
    return Machine(
        name=name,
        version=version,
        queue=queue,
        initial=initial[0],
        steps=steps,
        state=_state_type(cls, name),
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
    capture: bool = False,
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
    model = _arguments(name, fields)
    only = Step(
        name="run",
        call=function,
        runs_in=_place(function, runs_in),
        timeout=_timeout(timeout),
        leads_to=None,
        capture=capture,
    )
    return Machine(
        name=name,
        version=version,
        queue=queue,
        initial=only.name,
        steps={only.name: only},
        state=TypeAdapter(model),
        handle=_handle(name, None, retry),
        ttl=None if ttl is None else duration(ttl, "ttl"),
        run_ahead=False,
        redact=frozenset(redact),
        spec=_spec(name, only.name, {only.name: only}),
        plain=True,
        takes_context=takes_context,
    )


def _state_type(cls: type, name: str) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(getattr(cls, "State", dict[str, Any]))
    except (NameError, TypeError, PydanticUserError) as error:
        raise BadDefinition(
            f"Machine {name!r} has a State that cannot be typed: {_first_line(error)}"
        ) from error


def _arguments(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    """The arguments of a function as a type, which refuses what the function does not take."""
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=False, protected_namespaces=())
    if hidden := [field for field in fields if field.startswith("_") or field == "model_config"]:
        raise BadDefinition(f"Job {name!r}: an argument cannot be called {hidden[0]!r}.")
    try:
        with warnings.catch_warnings():
            # `json` or `copy` are good names for an argument; that old models had such methods is no matter.
            warnings.filterwarnings("ignore", message="Field name .* shadows")
            return create_model("Arguments", __config__=config, **fields)
    except (NameError, TypeError, PydanticUserError) as error:
        raise BadDefinition(
            f"Job {name!r} has an argument that cannot be typed: {_first_line(error)}"
        ) from error


def _parameters(function: Callable[..., Any], name: str) -> tuple[list[inspect.Parameter], bool]:
    try:
        hints = get_type_hints(function, include_extras=True)
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
    if value is None:
        return None
    if not (limit := duration(value, "timeout")):
        raise BadRequest("timeout is 0, and no step is that fast: leave it out for none.", field="timeout")
    return limit


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
    lost = spec.unreachable()
    if lost and all(steps[state].leads_to is not None for state in steps if state not in lost):
        raise BadDefinition(f"No path leads to {lost[0]!r} of machine {name!r}: name it in a step's `to`.")
    return spec


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _handle(name: str, own: Handle | None, retry: Handle | None) -> Handle | None:
    """What answers errors: the machine's own `handle` or a policy, not both, and something that can be called."""
    if own is not None and retry is not None:
        raise BadDefinition(
            f"{name!r} has a handle of its own and retry=: say in one place what an error leads to."
        )
    handle = own if own is not None else retry
    if handle is not None and not callable(handle):
        raise BadDefinition(f"retry of {name!r} is {handle!r}; give a policy such as Backoff(attempts=5).")
    if inspect.iscoroutinefunction(handle):
        raise BadDefinition(f"handle of {name!r} is async, but it decides at once: make it a plain def.")
    return handle
