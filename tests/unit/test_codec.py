"""The one JSON codec: what goes through it comes back, and the rest is refused with its place named."""

from __future__ import annotations

import enum
import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kairos import codec
from kairos.errors import BadValue

TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)


@given(VALUES)
def test_whatever_is_accepted_comes_back_the_same(value: object) -> None:
    text = codec.dumps(value)
    assert codec.loads(text) == value
    assert codec.dumps(codec.loads(text)) == text


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ("a\x00b", "args"),
        ("é\x00", "args"),
        ("\ud800", "args"),
        (float("nan"), "args"),
        (float("inf"), "args"),
        (-float("inf"), "args"),
        (10**codec.MAX_DIGITS, "args"),
        (-(10**codec.MAX_DIGITS), "args"),
        ({"a": [1, {"b": "\x00"}]}, "args.a[1].b"),
        ({"a": {"\x00": 1}}, "args.a"),
        ({"\udfff": 1}, "args"),
        ({1: 2}, "args"),
        ({"a": (1, {2})}, "args.a[1]"),
        ({"when": datetime.now(UTC)}, "args.when"),
        (b"bytes", "args"),
        (Decimal(1), "args"),
        (..., "args"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_json_or_jsonb_cannot_hold_is_refused_with_its_place(value: object, field: str) -> None:
    with pytest.raises(BadValue) as refused:
        codec.dumps(value, "args")
    assert refused.value.field == field
    assert refused.value.message.startswith(field)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1,]",
        "nul",
        "NaN",
        "-Infinity",
        "1e400",
        '{"a": 1, "a": 2}',
        '{"a": {"b": 1, "b": 1}}',
        r'"\u0000"',
        r'"\ud800"',
        "9" * 5000,
        "[" * 100_000 + "]" * 100_000,
        '"' + "x" * codec.MAX_BYTES + '"',
    ],
    ids=lambda text: text[:20] or "empty",
)
def test_json_from_outside_is_held_to_the_same_rules(text: str) -> None:
    with pytest.raises(BadValue) as refused:
        codec.loads(text, "body")
    assert refused.value.message.startswith("body")


def test_enums_of_text_and_numbers_are_their_values() -> None:
    class Colour(enum.StrEnum):
        RED = "red"

    class Level(enum.IntEnum):
        HIGH = 3

    assert json.loads(codec.dumps([Colour.RED, Level.HIGH])) == ["red", 3]


def test_none_and_tuples_are_what_json_has_for_them() -> None:
    assert codec.dumps(None) == "null"
    assert codec.dumps((1, ())) == "[1,[]]"


@given(st.text(st.characters(), max_size=50))
def test_printable_text_can_always_be_stored(text: str) -> None:
    safe = codec.printable(text)
    assert "\x00" not in safe
    assert safe.encode().decode() == safe


@pytest.mark.parametrize("length", [9, 10, 11])
def test_printable_text_is_never_longer_than_its_limit(length: int) -> None:
    safe = codec.printable("é" * length, limit=10)
    assert len(safe) == min(length, 10)
    assert safe.endswith("…") == (length > 10)
