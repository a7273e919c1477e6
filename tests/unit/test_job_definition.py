"""Jobs as the engine reads them from functions, typed by their signatures."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field

from kairos import Backoff, Context, Kairos
from kairos.errors import BadArguments, BadDefinition, BadRequest, BadValue
from kairos.machine.definition import Machine


class Colour(BaseModel):
    name: str
    strength: float = 1.0


def job(target: Any, **settings: Any) -> Machine:
    return Kairos().job(**settings)(target).machine


def test_a_function_is_a_machine_of_one_step_typed_by_its_signature() -> None:
    def send(ctx: Context, user: int, colour: Colour, *, template: str = "plain") -> None: ...

    read = job(send, queue="mail", retry=Backoff(), timeout="1m")
    assert (read.name, read.plain, read.takes_context, read.initial) == ("send", True, True, "run")
    state = read.load(read.first_state({"user": "7", "colour": {"name": "red"}}))
    assert dict(state) == {"user": 7, "colour": Colour(name="red"), "template": "plain"}


def test_a_function_without_a_context_is_called_without_one() -> None:
    async def plain(ctx_of_the_word: str) -> None: ...

    assert job(plain).takes_context is False


@pytest.mark.parametrize("name", ["json", "schema", "copy", "dict", "model_dump", "model_name", "self"])
def test_an_argument_may_have_any_ordinary_name(name: str, recwarn: pytest.WarningsRecorder) -> None:
    scope: dict[str, Any] = {}
    exec(f"def f({name}: int): ...", scope)
    read = job(scope["f"])
    assert dict(read.load(read.first_state({name: 5}))) == {name: 5}
    assert not recwarn.list


@pytest.mark.parametrize(
    "signature",
    [
        "a, /",
        "*a",
        "**a",
        "a: 'Missing'",
        "_a: int",
        "model_config: int",
        "a: type('Strange', (), {})",
        "a: __import__('socket').socket",
    ],
)
def test_a_function_whose_arguments_could_never_be_given_is_refused(signature: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def f({signature}): ...", scope)
    with pytest.raises(BadDefinition, match="'f'"):
        job(scope["f"])


@pytest.mark.parametrize(
    "settings",
    [
        {"queue": ""},
        {"queue": "x" * 256},
        {"queue": "a\x00"},
        {"name": "a\x00"},
        {"name": "x" * 256},
        {"version": 0},
        {"version": 2**31},
        {"version": "1"},
        {"ttl": -1},
        {"timeout": "soon"},
        {"timeout": 0},
        {"runs_in": "space"},
        {"priority": 40000},
        {"colour": "red"},
    ],
    ids=lambda given: str(given)[:40],
)
def test_settings_that_make_no_sense_are_refused_where_they_are_written(settings: dict[str, Any]) -> None:
    def send() -> None: ...

    with pytest.raises(BadRequest):
        job(send, **settings)


@pytest.mark.parametrize(
    ("arguments", "error", "field"),
    [
        ({}, BadArguments, "user"),
        ({"user": "seven"}, BadArguments, "user"),
        ({"user": 7, "colour": {"name": 5}}, BadArguments, "colour.name"),
        ({"user": 7, "extra": 1}, BadArguments, "extra"),
        ({"user": 7, "anything": float("nan")}, BadValue, "state.anything"),
        ({"user": 7, "anything": {"x": [1, float("inf")]}}, BadValue, "state.anything.x[1]"),
        ({"user": 7, "anything": "a\x00"}, BadValue, "state.anything"),
        ({"user": 7, "anything": "\ud800"}, BadValue, "state.anything"),
        ({"user": 7, "anything": ...}, BadValue, "anything"),
        ({"user": 7, "anything": b"\xff"}, BadValue, "anything"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_wrong_arguments_are_refused_with_the_field_named(
    arguments: dict[str, Any], error: type[BadRequest], field: str
) -> None:
    def send(user: int, colour: Colour | None = None, anything: Any = None) -> None: ...

    with pytest.raises(error) as refused:
        job(send).first_state(arguments)
    assert refused.value.field == field


class Lenient(BaseModel):
    number: int


def test_only_arguments_of_plain_types_are_written_without_comparing_their_types_again() -> None:
    def plain(
        ctx: Context, config: int, names: list[str], rates: dict[str, float], note: str | None = None
    ) -> None: ...
    def with_model(each: Lenient) -> None: ...
    def with_validator(number: Annotated[int, AfterValidator(str)]) -> None: ...
    def with_factory(number: Annotated[int, Field(default_factory=str)]) -> None: ...

    assert job(plain).exact
    for other in (with_model, with_validator, with_factory):
        assert not job(other).exact


def test_a_value_that_is_not_of_its_declared_type_is_refused() -> None:
    def with_model(each: Lenient) -> None: ...
    def with_validator(number: Annotated[int, AfterValidator(str)]) -> None: ...

    with pytest.raises(BadValue, match="state"):
        job(with_model).first_state({"each": Lenient.model_construct(number="seven")})
    with pytest.raises(BadValue, match="state"):
        job(with_validator).first_state({"number": 7})
