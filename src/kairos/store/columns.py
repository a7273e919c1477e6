"""Batches travel as one array literal per column.

A driver encodes a text parameter in one copy, where it would encode a list element by element: for
a commit of 200 outcomes that is most of what the client spends. It also means that every driver,
and every person's own connection, is handed plain text and nothing to adapt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

_MICROSECOND = timedelta(microseconds=1)


def texts(values: Sequence[str | None]) -> str | None:
    """A `text[]` literal; None for a column of nothing but NULLs, which unnest pads by itself."""
    return _literal(values, _quoted)


def plain(values: Sequence[Any]) -> str | None:
    """A literal of numbers, booleans or names that need no quotes; None for nothing but NULLs."""
    return _literal(values, str)


def microseconds(values: Iterable[timedelta | None]) -> str | None:
    """Lengths of time as whole microseconds, exact where an interval's text would be parsed."""
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
