"""A machine as the engine sees it, and the mark that makes a method one of its steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar, overload

from pydantic import TypeAdapter, ValidationError

from kairos import codec
from kairos.durations import Duration
from kairos.errors import BadArguments, BadValue
from kairos.fsm.spec import Spec
from kairos.machine.context import Context
from kairos.machine.names import check_name, check_queue, check_range

F = TypeVar("F", bound=Callable[..., Any])
Handle = Callable[[Exception, Context[Any]], Any]

MARK = "__kairos_step__"


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what to call, where it runs, how long it may take and where it may lead."""

    name: str
    call: Callable[..., Any]
    runs_in: str
    timeout: timedelta | None
    leads_to: tuple[str, ...] | None
    capture: bool = False  # what it prints is kept in the job's log


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

    def __post_init__(self) -> None:
        check_name(self.name, "name")
        check_queue(self.queue, self.name)
        check_range(self.version, "version", 1, 2**31 - 1)

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
        with suppress(ValueError):  # said better below
            text = self.state.dump_json(state, warnings="error").decode()
            if codec.is_plain(text):
                return text
        try:
            value = self.state.dump_python(state, mode="json", warnings="error")
        except ValueError as error:  # pydantic's own, a state that contains itself, bytes that are no text
            raise BadValue(
                f"The state of {self.name!r} cannot be written as JSON: {error}.", field="state"
            ) from error
        text = codec.dumps(value, "state")
        if "null" in text:
            # Pydantic writes a NaN as null, which is another value.
            codec.refuse_endless(self.state.dump_python(state, warnings=False), "state")
        return text

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
) -> F | Callable[[F], F]:
    """Mark a method as a step of its machine.

    `to` names the steps it may go on with: they are drawn, and any other is refused. `runs_in` is
    "async" for `async def` and "thread" for `def` unless it says "process". `capture` keeps what it prints
    in the job's log; left out, the machine decides.
    """

    def mark(method: F) -> F:
        setattr(method, MARK, (initial, to, timeout, runs_in, capture))
        return method

    return mark if function is None else mark(function)


def _field(error: ValidationError) -> str | None:
    location = error.errors()[0]["loc"]
    return ".".join(str(part) for part in location) or None


def _why(name: str, error: ValidationError) -> str:
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    where = f"argument {field!r}" if field else "arguments"
    return f"{name}: {where}: {first['msg']}."
