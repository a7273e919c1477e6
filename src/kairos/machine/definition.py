"""A machine as the engine runs it, and the `@step` decorator."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from inspect import iscoroutine
from typing import TYPE_CHECKING, Any, Never, TypeVar, overload

from kairos import json_codec
from kairos.durations import Duration
from kairos.errors import BadArguments, BadDefinition, BadValue
from kairos.fsm.state_machine import Spec
from kairos.json_codec import NotJsonType, shortened
from kairos.machine.call import OPTION_NAMES
from kairos.machine.context import Context
from kairos.machine.field_checks import check_name, check_queue, check_range
from kairos.machine.round_trip import refuse_changed, refuse_unwritable
from kairos.suggest import did_you_mean

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError
    from pydantic.fields import FieldInfo

F = TypeVar("F", bound=Callable[..., Any])
Handle = Callable[[Exception, Context[Any]], Any]

MARK = "__kairos_step__"
_STEP_OPTIONS = ("initial", "to", "timeout", "runs_in", "capture")
# Pydantic takes 20 microseconds to describe a fault: 80,000 unknown arguments would stop the service for seconds.
_MOST_FAULTS = 100
# The clusters that a step may run on (`runs_in`); each is also the name of the extra that its client comes with.
CLUSTERS = ("ray", "dask")


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what to call, where it runs, how long it may take and where it may lead."""

    name: str
    call: Callable[..., Any]
    runs_in: str
    timeout: timedelta | None
    leads_to: tuple[str, ...] | None
    capture: bool = False  # store what it prints in the job's log


@dataclass(frozen=True, slots=True)
class Machine:
    """A named, versioned machine. `plain` marks a function: one step, whose return value is the result."""

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
    search: tuple[str, ...] = ()  # arguments that jobs are found by
    keep_states: bool = False  # store the state after each step in the history
    # The types of the arguments that a function takes, by their names.
    types: Mapping[str, Any] = field(default_factory=dict)
    exact: bool = False  # a validated state has exactly the types that are declared
    result: TypeAdapter[Any] | None = None  # of what it returns, if that is annotated

    @property
    def arguments(self) -> Collection[str]:
        """The names of the arguments that a function takes."""
        return self.types.keys()

    def __post_init__(self) -> None:
        check_name(self.name, "name")
        check_queue(self.queue, self.name)
        check_range(self.version, "version", 1, 2**31 - 1)

    def first_state(self, values: Mapping[str, Any]) -> str:
        """Validate the arguments of a call into the first state as JSON; raises `BadArguments` naming the field."""
        try:
            # The validator is called instead of the adapter, whose handling of options costs as much as the validation.
            state = self.state.validator.validate_python(dict(values))
        except ValueError as error:
            from pydantic import ValidationError

            if not isinstance(error, ValidationError):
                raise
            found = _faults(self, error, values)
            raise BadArguments(_why(self, found), field=_field(found)) from error
        if self.exact:
            return self.dump(state, exclude=_plain_defaults(state), is_exact=True)
        try:
            text = self.dump(state, exclude=_plain_defaults(state))
        except BadValue:
            refuse_unwritable(self.name, state)
            raise
        refuse_changed(self.name, self.state, state, text)
        return text

    def partial_state(self, values: Mapping[str, Any], *, lacks: str | None) -> dict[str, Any]:
        """Validate the arguments of a call that still lacks one, and return them as JSON values."""
        from pydantic import TypeAdapter, ValidationError
        from pydantic_core import to_jsonable_python

        try:
            self.state.validate_python(dict(values))
        except ValidationError as error:
            if others := [each for each in _faults(self, error, values) if each["loc"][:1] != (lacks,)]:
                raise BadArguments(_why(self, others), field=_field(others)) from error
        refuse_unwritable(self.name, dict(values))
        text = json_codec.dumps(to_jsonable_python(dict(values)), "input")
        stored: dict[str, Any] = json_codec.loads(text)
        for name, value in values.items():
            kind = TypeAdapter(self.types.get(name, Any))
            refuse_changed(
                self.name, kind, kind.validate_python(value), json_codec.dumps(stored[name]), at=name
            )
        return stored

    def dump(self, state: Any, *, exclude: set[str] | None = None, is_exact: bool = False) -> str:
        """Encode a state as JSON text with the machine's own type and the strict codec; values that are known to have
        exactly their declared types are not compared with them again.
        """
        try:
            text = self.state.serializer.to_json(
                state, exclude=exclude, warnings=False if is_exact else "error"
            ).decode()
        except ValueError:
            text = ""  # the error below is clearer
        if text and json_codec.is_plain(text):
            return text
        return _encode(self.state, state, "state", f"The state of {self.name!r}", exclude)

    def dump_result(self, result: Any) -> str:
        """Encode what a job returned; values that are not JSON themselves are written as the annotation says."""
        try:
            text = json_codec.dumps(result, "result")
        except NotJsonType as refusal:
            if iscoroutine(result):
                result.close()  # or Python warns of it later, far from here
                raise BadValue(f"{refusal.message[:-1]}: write `return await …`.", field="result") from None
            if self.result is None:
                hint = (
                    "annotate what the function returns"
                    if self.plain
                    else "return its model_dump(mode='json')"
                )
                raise BadValue(f"{refusal.message[:-1]}: {hint}, or return JSON.", field="result") from None
            return _encode(self.result, result, "result", f"The result of {self.name!r}")
        if self.result is not None:
            self._check_result(self.result, text)
        return text

    def _check_result(self, kind: TypeAdapter[Any], text: str) -> None:
        """Refuse JSON that `load_result` could not read as what the function is annotated to return."""
        from pydantic import ValidationError

        try:
            kind.validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = "".join(f"[{part!r}]" for part in first["loc"])
            raise BadValue(
                f"{self.name!r} returned what its annotation does not allow: result{where}: {first['msg']}. Return "
                "that, or change the annotation.",
                field="result",
            ) from error

    def load_result(self, output: Any) -> Any:
        """Return the stored output as the type that the function is annotated to return."""
        if self.result is None:
            return output
        from pydantic import ValidationError

        try:
            return self.result.validate_json(json_codec.dumps(output, "result"))
        except ValidationError as error:
            why = error.errors()[0]["msg"]
            raise BadValue(
                f"The output of {self.name!r} is not what its function is annotated to return: {why}. Annotate what it "
                "returns, or read the output with app.result(…).",
                field="result",
            ) from error

    def unknown_arguments(self, text: str) -> list[str]:
        """Return the stored arguments that this version of the code does not take."""
        if not self.plain:
            return []
        return sorted(set(json.loads(text)).difference(self.types))

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
    capture: bool | None = None,
) -> Callable[[F], F]: ...
def step(
    function: F | None = None,
    *,
    initial: bool = False,
    to: Sequence[str] | None = None,
    timeout: Duration | None = None,
    runs_in: str | None = None,
    capture: bool | None = None,
    **unknown: Never,
) -> F | Callable[[F], F]:
    """Mark a method as a step of its machine.

    `to` lists the steps that may follow: they appear in the diagram, and any other is refused. `runs_in` is
    "async" for `async def` and "thread" for `def`, or "process", or a cluster: "ray" or "dask". `capture` stores
    what the step prints in the job's log; by default the machine decides.
    """

    for name in unknown:
        raise BadDefinition(f"@step has no option {name!r}.{did_you_mean(name, _STEP_OPTIONS)}")

    def mark(method: F) -> F:
        setattr(method, MARK, (initial, to, timeout, runs_in, capture))
        return method

    return mark if function is None else mark(function)


def _field(found: Sequence[Any]) -> str | None:
    location = _first(found)["loc"]
    return shortened(".".join(str(part) for part in location)) or None


def _first(found: Sequence[Any]) -> Any:
    """Return the error to report: an unknown name explains why another one is missing."""
    return next((each for each in found if each["type"] == "extra_forbidden"), found[0])


def _faults(machine: Machine, error: ValidationError, values: Mapping[str, Any]) -> Sequence[Any]:
    """Return the faults of arguments as Pydantic describes them; of very many only one, which stands for all."""
    if error.error_count() <= _MOST_FAULTS:
        return error.errors()
    unknown = (
        next((name for name in values if name not in machine.arguments), None) if machine.plain else None
    )
    if unknown is not None:
        return [{"type": "extra_forbidden", "loc": (unknown,), "msg": "there is no such argument"}]
    return [{"type": "too_many", "loc": (), "msg": f"{error.error_count():,} values are wrong"}]


def _why(machine: Machine, found: Sequence[Any]) -> str:
    """Return the message about the fault to report."""
    first = _first(found)
    field = shortened(".".join(str(part) for part in first["loc"]))
    where = f"argument {field!r}" if field else "arguments"
    if first["type"] == "missing":
        return f"{machine.name}: {where} is missing."
    message = f"{machine.name}: {where}: {first['msg']}."
    if first["type"] != "extra_forbidden" or not machine.plain:
        return message
    if field in OPTION_NAMES and field not in machine.arguments:
        how = f"{machine.name}.options({field}=…).enqueue(…)"
        return f"{machine.name} takes no argument {field!r}, which is an option: write {how}."
    return f"{machine.name} takes no argument {field!r}.{did_you_mean(field, machine.arguments)}"


def _plain_defaults(state: Any) -> set[str] | None:
    """Return the fields of a model that hold a default: it is not stored, so that code may add arguments and change
    defaults.

    What a factory made is stored: made again at each attempt, it would be another value.
    """
    given: set[str] | None = getattr(state, "__pydantic_fields_set__", None)
    if given is None:
        return None  # not a model
    fields: Mapping[str, FieldInfo] = type(state).__pydantic_fields__
    if fields.keys() <= given:
        return None
    return {
        name for name, field in fields.items() if name not in given and field.default_factory is None
    } or None


def _encode(
    adapter: TypeAdapter[Any], value: Any, field: str, what: str, exclude: set[str] | None = None
) -> str:
    try:
        found = adapter.dump_python(value, mode="json", exclude=exclude, warnings="error")
    except ValueError as error:  # Pydantic's error, a value that contains itself, bytes that are not text
        if "serializer warnings" in str(error):  # it quotes the value, which may be a secret
            kind = type(value).__name__
            raise BadValue(
                f"{what} has the type {kind}; it, or a value inside it, does not fit the annotation.",
                field=field,
            ) from error
        raise BadValue(f"{what} cannot be written as JSON: {error}.", field=field) from error
    text = json_codec.dumps(found, field)
    if "null" in text:
        # Pydantic encodes NaN as null, which is a different value.
        json_codec.refuse_endless(adapter.dump_python(value, exclude=exclude, warnings=False), field)
    return text
