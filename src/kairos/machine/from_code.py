"""Build a `Machine` from the class or function that a user wrote."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from kairos.durations import Duration, duration
from kairos.errors import BadDefinition, BadRequest
from kairos.fsm.state_machine import Edge, Spec
from kairos.machine.annotations import (
    arguments_model,
    is_exact_model,
    read_parameters,
    result_type,
    state_type,
)
from kairos.machine.definition import CLUSTERS, MARK, Handle, Machine, Step
from kairos.machine.field_checks import check_name

if TYPE_CHECKING:
    from pydantic import TypeAdapter

# How alike two names must be for one to be taken for the other: "crad" for "card", not "card" for "card_id".
_MISSPELLED = 0.75
_RUNS_IN = ("async", "thread", "process", *CLUSTERS)


@dataclass(frozen=True, slots=True)
class Declaration:
    """The properties of a machine that are declared beside its code."""

    name: str
    version: int = 1
    queue: str = "default"
    retry: Handle | None = None
    ttl: Duration | None = None
    timeout: Duration | None = None
    redact: Sequence[str] = ()
    capture: bool = False
    search: Sequence[str] = ()
    keep_states: bool = False


def read_class(cls: type, declared: Declaration, *, run_ahead: bool = True) -> Machine:
    """Build a machine from a class with `@step` methods; raises `BadDefinition` for what could never run."""
    name = declared.name
    instance = _instance(cls, name)
    steps: dict[str, Step] = {}
    initial: list[str] = []
    for method_name, method in inspect.getmembers(cls, inspect.isfunction):
        if (marked := getattr(method, MARK, None)) is None:
            continue
        first, leads_to, own_timeout, runs_in, captured = marked
        _check_step(name, method_name, getattr(instance, method_name), leads_to)
        steps[method_name] = Step(
            name=method_name,
            call=getattr(instance, method_name),
            runs_in=_runs_in(method, runs_in),
            timeout=_timeout(own_timeout if own_timeout is not None else declared.timeout),
            leads_to=None if leads_to is None else tuple(leads_to),
            capture=declared.capture if captured is None else captured,
        )
        if first:
            initial.append(method_name)
    if not steps:
        raise BadDefinition(f"Machine {name!r} has no steps: mark its methods with @step.")
    if len(steps) == 1 and not initial:
        initial = list(steps)
    if len(initial) != 1:
        raise BadDefinition(f"Machine {name!r} needs exactly one @step(initial=True); it has {len(initial)}.")
    handle = _handle(name, getattr(instance, "handle", None), declared.retry)
    return _machine(declared, initial[0], steps, state_type(cls, name), handle, run_ahead=run_ahead)


def _instance(cls: type, name: str) -> Any:
    try:
        inspect.signature(cls).bind()
    except TypeError as error:
        raise BadDefinition(
            f"Machine {name!r} is made without arguments, and its __init__ needs some ({error}): keep what belongs to "
            "one job in its State."
        ) from error
    return cls()


def _check_step(name: str, step: str, method: Callable[..., Any], leads_to: Any) -> None:
    """Refuse what would fail at the step's first run."""
    if isinstance(leads_to, str):
        raise BadDefinition(
            f"Step {step!r} of {name!r} leads to {leads_to!r}; give a list: to=[{leads_to!r}]."
        )
    try:
        inspect.signature(method).bind(None)
    except TypeError as error:
        raise BadDefinition(
            f"Step {step!r} of {name!r} must take self and ctx: write def {step}(self, ctx)."
        ) from error


def read_function(
    function: Callable[..., Any], declared: Declaration, *, runs_in: str | None = None
) -> Machine:
    """Build a machine of one step from a function, typed by its signature."""
    from pydantic import TypeAdapter

    name = declared.name
    parameters, takes_context = read_parameters(function, name)
    fields: dict[str, Any] = {
        parameter.name: (
            Any if parameter.annotation is inspect.Parameter.empty else parameter.annotation,
            ... if parameter.default is inspect.Parameter.empty else parameter.default,
        )
        for parameter in parameters
    }
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise BadDefinition(f"Job {name!r} is a generator, which would never run: return its result instead.")
    state: TypeAdapter[Any] = TypeAdapter(arguments_model(name, fields))
    only = Step(
        name="run",
        call=function,
        runs_in=_runs_in(function, runs_in),
        timeout=_timeout(declared.timeout),
        leads_to=None,
        capture=declared.capture,
    )
    return _machine(
        declared,
        only.name,
        {only.name: only},
        state,
        _handle(name, None, declared.retry),
        run_ahead=False,
        plain=True,
        takes_context=takes_context,
        types={name: annotation for name, (annotation, _) in fields.items()},
        exact=is_exact_model(state),
        result=result_type(function),
    )


def _machine(
    declared: Declaration,
    initial: str,
    steps: Mapping[str, Step],
    state: TypeAdapter[Any],
    handle: Handle | None,
    **code: Any,
) -> Machine:
    return Machine(
        name=declared.name,
        version=declared.version,
        queue=declared.queue,
        initial=initial,
        steps=steps,
        state=state,
        handle=handle,
        ttl=None if declared.ttl is None else duration(declared.ttl, "ttl"),
        redact=_redacted(declared, state),
        spec=_spec(declared.name, initial, steps),
        search=_searchable(declared, state),
        keep_states=declared.keep_states,
        **code,
    )


def _searchable(declared: Declaration, state: TypeAdapter[Any]) -> tuple[str, ...]:
    """Return the arguments that jobs are found by, each once; refuse those that do not exist or are redacted."""
    name, search = declared.name, declared.search
    if isinstance(search, str):
        raise BadDefinition(f"search of {name!r} is {search!r}; give a list of arguments.")
    known = state.json_schema().get("properties") if search else None
    for path in search:
        check_name(path, "search")
        head = path.split(".")[0]
        if ":" in path or not all(path.split(".")):
            raise BadDefinition(f"search of {name!r} names {path!r}; give an argument, such as card.brand.")
        if known is not None and head not in known:
            raise BadDefinition(f"search of {name!r} names {path!r}, but it has no argument {head!r}.")
        if any(f"{path}.".startswith(f"{field}.") for field in declared.redact):
            raise BadDefinition(
                f"search of {name!r} names {path!r}, which is redacted: a search would reveal its value."
            )
    return tuple(dict.fromkeys(search))


def _redacted(declared: Declaration, state: TypeAdapter[Any]) -> frozenset[str]:
    """Check what is to be hidden: a misspelled argument would be shown. Any other name may be that of a log field."""
    name, redact = declared.name, declared.redact
    if isinstance(redact, str):
        raise BadDefinition(f"redact of {name!r} is {redact!r}; give a list of arguments.")
    known = state.json_schema().get("properties", {}) if redact else {}
    for path in redact:
        check_name(path, "redact")
        head = path.split(".")[0]
        if head not in known and (close := get_close_matches(head, known, 1, _MISSPELLED)):
            raise BadDefinition(
                f"redact of {name!r} names {path!r}, but it has no argument {head!r}. Did you mean {close[0]!r}?"
            )
    return frozenset(redact)


def _runs_in(function: Callable[..., Any], wanted: str | None) -> str:
    """Return where a function runs, by default by its kind; refuse one that cannot run there."""
    is_async = inspect.iscoroutinefunction(function)
    runs_in = wanted or ("async" if is_async else "thread")
    if runs_in not in _RUNS_IN:
        raise BadDefinition(f"runs_in is {runs_in!r}; it is one of {', '.join(_RUNS_IN)}.")
    if is_async != (runs_in == "async"):
        kind = "an async def" if is_async else "a plain def"
        raise BadDefinition(f"{function.__qualname__} is {kind} and cannot run in {runs_in!r}.")
    if runs_in in CLUSTERS and "<locals>" in function.__qualname__:
        raise BadDefinition(
            f"{function.__qualname__} cannot be sent to {runs_in!r}, whose nodes import it by its name: define it at "
            "the top level of its module."
        )
    return runs_in


def _timeout(value: Duration | None) -> timedelta | None:
    if value is None:
        return None
    if not (limit := duration(value, "timeout")):
        raise BadRequest("timeout is 0; it must be positive: leave it out for none.", field="timeout")
    return limit


def _spec(name: str, initial: str, steps: Mapping[str, Step]) -> Spec:
    """Return the diagram of the machine; a step without `to` may lead anywhere, so no edges are drawn or checked."""
    declared = [s for s in steps.values() if s.leads_to is not None]
    edges = tuple(Edge("next", s.name, target) for s in declared for target in s.leads_to or ())
    spec = Spec(
        name=name,
        states=tuple(sorted(steps, key=lambda state: state != initial)),
        initial=(initial,),
        terminal=frozenset(s.name for s in steps.values() if not s.leads_to),
        edges=edges,
    )
    if unknown := spec.unknown():
        raise BadDefinition(f"Machine {name!r} leads to {unknown[0]!r}, which is not one of its steps.")
    lost = spec.unreachable()
    if lost and all(steps[state].leads_to is not None for state in steps if state not in lost):
        raise BadDefinition(f"No path leads to {lost[0]!r} of machine {name!r}: name it in a step's `to`.")
    return spec


def _handle(name: str, own: Handle | None, retry: Handle | None) -> Handle | None:
    """Return the error handler: the machine's own `handle` or a retry policy, but not both."""
    if own is not None and retry is not None:
        raise BadDefinition(
            f"{name!r} has a handle of its own and retry=: say in one place what an error leads to."
        )
    handle = own if own is not None else retry
    if handle is not None and (not callable(handle) or inspect.isclass(handle)):
        raise BadDefinition(f"retry of {name!r} is {handle!r}; give a policy such as Backoff(attempts=5).")
    if inspect.iscoroutinefunction(handle):
        raise BadDefinition(f"handle of {name!r} is async, but it decides at once: make it a plain def.")
    return handle
