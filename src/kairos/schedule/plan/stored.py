"""The stored form of a recurrence: a JSON document with a format version.

A schedule is stored as this document beside its sentence and is evaluated from it alone, so a later change of the
grammar or of the sentences never changes a schedule that exists. Raise `VERSION` when a document may contain what older
code cannot evaluate; keep reading every older version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from functools import lru_cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from kairos.errors import PlanUnreadable
from kairos.schedule.plan.recurrence import Recurrence

VERSION = 1


def to_json(recurrence: Recurrence) -> dict[str, Any]:
    """The document of a recurrence; fields that have their default value are left out."""
    return {"version": VERSION, **_document(recurrence)}


def from_json(document: Mapping[str, Any]) -> Recurrence:
    """The recurrence of a document; raise `PlanUnreadable` if it is newer than this code, or damaged."""
    version = document.get("version") if isinstance(document, Mapping) else None
    if not isinstance(version, int) or version < 1:
        raise PlanUnreadable("This is no stored plan: it has no version.")
    if version > VERSION:
        raise PlanUnreadable(
            f"The stored plan has format version {version}, and this release of Kairos reads up to {VERSION}: "
            "upgrade the workers.",
            version=version,
        )
    try:
        found = _dataclass(Recurrence, {name: value for name, value in document.items() if name != "version"})
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise PlanUnreadable(f"The stored plan is damaged: {error}.", version=version) from error
    assert isinstance(found, Recurrence)
    return found


def _document(value: Any) -> dict[str, Any]:
    return {
        each.name: _plain(getattr(value, each.name))
        for each in fields(value)
        if each.default is MISSING or getattr(value, each.name) != each.default
    }


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {"kind": type(value).__name__, **_document(value)}
    if isinstance(value, date):  # and datetime, which is a date too
        return value.isoformat()
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


@lru_cache(maxsize=64)
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _dataclass(kind: type, document: Mapping[str, Any]) -> Any:
    hints = _types(kind)
    return kind(**{name: _typed(hints[name], value) for name, value in document.items() if name != "kind"})


def _typed(hint: Any, value: Any) -> Any:
    """Convert a JSON value to the declared type of a field."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _one_of(inner, value)
    if origin is tuple:
        return _tuple(inner, value)
    if origin is Literal:
        if value not in inner:
            raise ValueError(f"{value!r} is none of {inner}")
        return value
    if hint in (date, datetime):
        return hint.fromisoformat(value)
    if is_dataclass(hint) and isinstance(hint, type):
        if value["kind"] != hint.__name__:
            raise ValueError(f"{value['kind']!r} is not {hint.__name__}")
        return _dataclass(hint, value)
    if type(value) is not hint:
        raise TypeError(f"{value!r} is not {hint.__name__}")
    return value


def _one_of(hints: Sequence[Any], value: Any) -> Any:
    if value is None and type(None) in hints:
        return None
    if isinstance(value, Mapping):
        kinds = {each.__name__: each for each in hints if is_dataclass(each) and isinstance(each, type)}
        return _dataclass(kinds[value["kind"]], value)
    if date in hints:
        return date.fromisoformat(value) if len(value) == 10 else datetime.fromisoformat(value)
    rest = [each for each in hints if each is not type(None)]
    return _typed(rest[0], value)


def _tuple(inner: Sequence[Any], value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    if inner[-1] is Ellipsis:
        return tuple(_typed(inner[0], each) for each in value)
    return tuple(_typed(hint, each) for hint, each in zip(inner, value, strict=True))
