"""Lengths of time as people write them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kairos.durations import duration
from kairos.errors import BadRequest


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (0, 0),
        (90, 90),
        (0.25, 0.25),
        (timedelta(minutes=2), 120),
        ("0s", 0),
        ("1us", 1e-6),
        ("250ms", 0.25),
        ("90s", 90),
        ("5m", 300),
        ("1.5h", 5400),
        ("1h30m", 5400),
        ("1h 30m 15s", 5415),
        (" 1d ", 86400),
        ("2w", 1209600),
        ("36525d", 36525 * 86400),
    ],
)
def test_a_length_of_time_is_read(written: Any, seconds: float) -> None:
    assert duration(written, "ttl") == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "written",
    ["", "s", "5", "5 minutes", "-5s", "1e3s", "5mm", "５s", "1h,30m", None, True, [], b"5s", float("nan")],
)
def test_what_is_not_understood_is_refused_with_its_field(written: Any) -> None:
    with pytest.raises(BadRequest, match="ttl is") as refused:
        duration(written, "ttl")
    assert refused.value.field == "ttl"


@pytest.mark.parametrize("written", [-1, -1e-6, timedelta(microseconds=-1), -(10**400), timedelta.min])
def test_a_length_of_time_is_never_negative(written: Any) -> None:
    with pytest.raises(BadRequest, match="negative"):
        duration(written, "ttl")


@pytest.mark.parametrize(
    "written",
    [timedelta(days=36525, microseconds=1), "36525d1us", 1e30, 10**400, timedelta.max, "9" * 400 + "s"],
    ids=lambda written: repr(written)[:30],
)
def test_more_than_a_hundred_years_is_taken_for_a_mistake(written: Any) -> None:
    with pytest.raises(BadRequest, match="more than a hundred years"):
        duration(written, "ttl")


@pytest.mark.parametrize("written", [float("inf"), -float("inf")])
def test_an_endless_time_is_refused(written: float) -> None:
    with pytest.raises(BadRequest):
        duration(written, "ttl")
