"""A step gets exactly what its caller gave: what JSON would change is refused, unless an annotation brings it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, SecretStr

from kairos import Kairos
from kairos.errors import BadArguments, BadDefinition, BadValue
from kairos.testing import drain

AT = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)


class Size(StrEnum):
    SMALL = "small"


class Colour(Enum):
    RED = 1


class User(BaseModel):
    name: str
    more: dict[str, Any] = {}


class Admin(User):
    pass


class Aliased(BaseModel):
    number: int = Field(alias="userNumber")


@dataclass
class Point:
    x: int


class Row:
    """A row of an ORM, as Django has them."""

    pk = 7


def refused(action: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises((BadArguments, BadValue)) as found:
        action.call(*args, **kwargs)
    return found.value.message


@pytest.fixture
def plain(app: Kairos) -> Any:
    @app.job
    def plain(x, y=None) -> None:  # type: ignore[no-untyped-def]
        ...

    return plain


@pytest.mark.parametrize(
    ("given", "arrives"),
    [
        ((1, 2), "list"),
        ({1}, "list"),
        (AT, "str"),
        (date(2030, 1, 2), "str"),
        (Decimal("1.50"), "str"),
        (UUID(int=1), "str"),
        (b"text", "str"),
        (Colour.RED, "int"),
        (User(name="Ann"), "dict"),
        (Point(1), "dict"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_an_argument_without_annotation_that_json_would_change_is_refused(
    plain: Any, given: Any, arrives: str
) -> None:
    kind = type(given).__name__
    assert refused(plain, given) == (
        f"plain: argument 'x' has the type {kind}, which JSON would turn into {arrives}: annotate it with its type, or "
        f"pass {arrives}."
    )


def test_what_is_inside_is_named_by_its_path(app: Kairos, plain: Any) -> None:
    @app.job
    def typed(rows: list[dict[str, Any]]) -> None: ...

    assert "argument 'y.when' has the type datetime" in refused(plain, 1, {"when": AT})
    assert "argument 'rows[1].pair' has the type tuple" in refused(typed, [{}, {"pair": (1, 2)}])
    assert "argument 'x' has keys that are no text" in refused(plain, {1: 2})


@pytest.mark.parametrize(
    "given", [1, 1.0, "x", None, True, [1, [2]], {"a": {"b": None}}, Size.SMALL, 10**30], ids=str
)
def test_json_and_what_equals_it_is_taken_without_annotation(plain: Any, given: Any) -> None:
    assert plain.call(given).action == "plain"


async def test_annotated_arguments_arrive_as_they_were(app: Kairos) -> None:
    got: list[Any] = []

    @app.job
    def typed(
        pair: tuple[int, int], some: set[int], at: datetime, price: Decimal, user: User, by: dict[int, str]
    ) -> None:
        got.append((pair, some, at, price, user, by))

    given = ((1, 2), {3}, AT, Decimal("1.50"), User(name="Ann"), {1: "one"})
    await typed.enqueue(*given)
    await typed.enqueue(*given[:4], Admin(name="Ann"), given[5])
    await drain(app)
    assert got == [given, given]


def test_an_argument_that_is_any_sequence_may_be_a_tuple_and_arrives_as_a_list(app: Kairos) -> None:
    @app.job
    def add(numbers: Sequence[int]) -> None: ...

    assert add.call((1, 2)).state == '{"numbers":[1,2]}'


def test_what_cannot_be_written_is_told_what_to_pass_instead(app: Kairos, plain: Any) -> None:
    @app.job
    def keep(content: bytes) -> None: ...

    assert refused(plain, Row()) == (
        "plain: argument 'x' has the type Row, which JSON cannot hold: pass its pk, and load it in the step."
    )
    assert "argument 'y[0].a' has the type object, which JSON cannot hold" in refused(
        plain, 1, [{"a": object()}]
    )
    for action in (plain, keep):
        assert "is bytes that are no text, which JSON cannot hold: pass base64 text" in refused(
            action, b"\xff"
        )
    assert keep.call(b"text").state == '{"content":"text"}'


def test_a_value_that_contains_itself_is_refused(plain: Any) -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert "Circular reference" in refused(plain, endless)


def test_an_argument_whose_json_loses_its_value_is_refused(app: Kairos) -> None:
    @app.job
    def sign_in(password: SecretStr) -> None: ...

    @app.job
    def count(user: Aliased) -> None: ...

    assert "has the type SecretStr, whose JSON holds another value" in refused(sign_in, SecretStr("hunter2"))
    assert "argument 'user.userNumber' cannot be read back from its own JSON: Field required" in refused(
        count, Aliased(userNumber=1)
    )


def test_an_annotation_that_json_cannot_hold_is_told_what_to_take_instead(app: Kairos) -> None:
    def ship(count: int, order: Row) -> None: ...

    with pytest.raises(BadDefinition) as found:
        app.job(ship)
    assert found.value.message == (
        "Job 'ship' has an argument that JSON cannot hold, order: Row. Take plain values, such as order_id: int, and "
        "load it in the function."
    )
