"""The one JSON codec: what goes through it comes back, and the rest is refused with its place named."""

from __future__ import annotations

import enum
import json
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kairos import json_codec
from kairos.errors import BadValue

TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)


@given(VALUES)
def test_whatever_is_accepted_comes_back_the_same(value: object) -> None:
    text = json_codec.dumps(value)
    assert json_codec.loads(text) == value
    assert json_codec.dumps(json_codec.loads(text)) == text


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ("a\x00b", "args"),
        ("é\x00", "args"),
        ("\ud800", "args"),
        (float("nan"), "args"),
        (float("inf"), "args"),
        (-float("inf"), "args"),
        (10**json_codec.MAX_DIGITS, "args"),
        (-(10**json_codec.MAX_DIGITS), "args"),
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
        json_codec.dumps(value, "args")
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
        '"' + "x" * json_codec.MAX_BYTES + '"',
    ],
    ids=lambda text: text[:20] or "empty",
)
def test_json_from_outside_is_held_to_the_same_rules(text: str) -> None:
    with pytest.raises(BadValue) as refused:
        json_codec.loads(text, "body")
    assert refused.value.message.startswith("body")


def test_enums_of_text_and_numbers_are_their_values() -> None:
    class Colour(enum.StrEnum):
        RED = "red"

    class Level(enum.IntEnum):
        HIGH = 3

    assert json.loads(json_codec.dumps([Colour.RED, Level.HIGH])) == ["red", 3]


def test_none_and_tuples_are_what_json_has_for_them() -> None:
    assert json_codec.dumps(None) == "null"
    assert json_codec.dumps((1, ())) == "[1,[]]"


@given(st.text(st.characters(), max_size=50))
def test_printable_text_can_always_be_stored(text: str) -> None:
    safe = json_codec.printable(text)
    assert "\x00" not in safe
    assert safe.encode().decode() == safe


@pytest.mark.parametrize("length", [9, 10, 11])
def test_printable_text_is_never_longer_than_its_limit(length: int) -> None:
    safe = json_codec.printable("é" * length, limit=10)
    assert len(safe) == min(length, 10)
    assert safe.endswith("…") == (length > 10)


class Counted(str):
    """Text that counts how often it becomes a part of another text."""

    __slots__ = ("times",)

    def __new__(cls, text: str) -> Counted:
        made = super().__new__(cls, text)
        made.times = []  # type: ignore[attr-defined]
        return made

    def __format__(self, spec: str) -> str:
        self.times.append(spec)  # type: ignore[attr-defined]
        return str(self)


@pytest.mark.parametrize("check", [json_codec.dumps, json_codec.refuse_endless])
def test_no_path_is_built_for_a_value_that_is_accepted(check: Callable[[object, str], object]) -> None:
    what = Counted("args")
    check([*[0.5] * 1000, [None] * 1000, {"a": "b"}], what)
    assert len(what.times) == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("check", [json_codec.dumps, json_codec.refuse_endless])
def test_a_long_name_is_cut_where_a_fault_is_named(check: Callable[[object, str], object]) -> None:
    with pytest.raises(BadValue) as refused:
        check({"K" * 500_000: [0, {"k" * 100: float("nan")}]}, "args")
    assert refused.value.field == f"args.{'K' * 99}…[1].{'k' * 100}"
    assert refused.value.message.startswith(f"{refused.value.field} is nan")


def test_a_long_key_that_is_no_text_is_cut_too() -> None:
    with pytest.raises(BadValue) as refused:
        json_codec.dumps({tuple(range(10_000)): 1}, "args")
    assert len(refused.value.message) < 200


def test_floats_are_spelled_out_no_further_than_the_limit() -> None:
    value = [1e308] * 50_000  # 0.35 MB that would become 15 MB
    tracemalloc.start()
    try:
        with pytest.raises(BadValue, match="the limit is 1048576") as refused:
            json_codec.dumps(value, "payload")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert refused.value.field == "payload"
    assert peak < 6 * json_codec.MAX_BYTES


@pytest.mark.parametrize(("floats", "fits"), [(3360, True), (3361, False)])
def test_spelled_out_floats_may_fill_the_limit(floats: int, fits: bool) -> None:
    value = [1e308] * floats  # each takes 311 bytes and a comma
    assert (floats * 312 + 1 <= json_codec.MAX_BYTES) is fits
    if fits:
        assert len(json_codec.dumps(value)) == floats * 312 + 1
    else:
        with pytest.raises(BadValue):
            json_codec.dumps(value)


@pytest.mark.timeout(30)  # looked at from each of its digits, such an integer takes half a second
def test_integers_of_many_digits_cost_as_much_as_their_digits() -> None:
    value = [10 ** (json_codec.MAX_DIGITS - 1)] * 250
    assert json_codec.loads(json_codec.dumps(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e16, "10000000000000000.0"),
        (-1.5e17, "-150000000000000000.0"),
        (1e-7, "1e-07"),
        ([0.25, 1e22, 12], "[0.25,10000000000000000000000.0,12]"),
        ('say "1e16" 2e5', r'"say \"1e16\" 2e5"'),
    ],
)
def test_only_floats_are_spelled_out(value: object, text: str) -> None:
    assert json_codec.dumps(value) == text
