"""Read durations: a `timedelta`, a number of seconds, or text such as "90s" or "1h30m"."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import TypeAlias

from kairos.errors import BadRequest

Duration: TypeAlias = timedelta | float | str

_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(us|ms|s|m|h|d|w)")
_WHOLE = re.compile(rf"(?:{_PART.pattern}\s*)+")
# Postgres can hold longer intervals, but a longer wait is most likely a wrong unit.
_LONGEST = timedelta(days=36525)


def duration(value: Duration, field: str) -> timedelta:
    """Read a duration; raises if it is negative, infinite or not understood."""
    length = _read(value, field)
    if length < timedelta(0):
        raise BadRequest(f"{field} is {value!r}, but a length of time cannot be negative.", field=field)
    if length > _LONGEST:
        raise BadRequest(f"{field} is {value!r}, which is more than a hundred years.", field=field)
    return length


def _read(value: Duration, field: str) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, str):
        text = value.strip()
        if _WHOLE.fullmatch(text):
            return _seconds(sum(float(n) * _UNITS[unit] for n, unit in _PART.findall(text)))
    elif not isinstance(value, bool) and isinstance(value, int | float) and _is_number(value):
        return _seconds(value)
    raise BadRequest(
        f'{field} is {value!r}; write a timedelta, a number of seconds, or text such as "90s", "5m" or "1h30m".',
        field=field,
    )


def _seconds(value: float) -> timedelta:
    # timedelta overflows past about 2.7 million years; past the limit only the sign matters.
    return timedelta(seconds=float(max(min(value, 10**12), -(10**12))))


def _is_number(value: float) -> bool:
    return isinstance(value, int) or math.isfinite(value)
