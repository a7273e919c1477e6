"""Encode batches as Postgres array literals, one text parameter per column.

A driver copies a text parameter as a whole, but encodes a list element by element: for a commit of 200 outcomes that
would be most of the client's CPU time. Text parameters also need no type adaptation on users' own connections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

_MICROSECOND = timedelta(microseconds=1)


def texts(values: Sequence[str | None]) -> str | None:
    """Return a `text[]` literal; None if every value is NULL, since unnest pads the column with NULLs."""
    return _literal(values, _quoted)


def plain(values: Sequence[Any]) -> str | None:
    """Return the literal of an array whose elements need no quotes (numbers, booleans, names); None if all are NULL."""
    return _literal(values, str)


def microseconds(values: Iterable[timedelta | None]) -> str | None:
    """Return durations as an array of whole microseconds, which are exact and cheaper to parse than intervals."""
    return plain([None if value is None else value // _MICROSECOND for value in values])


def instants(values: Iterable[datetime | None]) -> str | None:
    return texts([None if value is None else value.isoformat() for value in values])


def _literal(values: Sequence[Any], write: Callable[[Any], str]) -> str | None:
    first = values[0] if values else None
    if values.count(first) == len(values):  # most columns of a batch are one value over and over
        return None if first is None else "{" + ",".join([write(first)] * len(values)) + "}"
    return "{" + ",".join(["NULL" if value is None else write(value) for value in values]) + "}"


def _quoted(value: str) -> str:
    if "\\" in value:
        value = value.replace("\\", "\\\\")
    if '"' in value:
        value = value.replace('"', '\\"')
    return f'"{value}"'
