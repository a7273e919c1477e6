"""Convert columns of rows and JSON values to the declared types of fields."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import Enum
from types import NoneType, UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin

Convert: TypeAlias = Callable[[Any], Any]


def column_conversion(hint: Any) -> Convert | None:
    """Return the function that converts a column (JSON arrives as text, an array as a list); None if not needed."""
    kind, nullable = split_optional(hint)
    if kind is Any or get_origin(kind) is dict:
        return unless_none(json.loads)
    if get_origin(kind) is tuple:
        return lambda array: tuple(array or ())
    if _is_enum(kind):
        return unless_none(kind) if nullable else kind
    return None


def json_conversion(hint: Any) -> Convert | None:
    """Return the function that converts a JSON value to a type; None if not needed."""
    kind, _ = split_optional(hint)
    if get_origin(kind) is tuple:
        each = json_conversion(get_args(kind)[0])
        return tuple if each is None else lambda array: tuple(map(each, array))
    if kind is timedelta:
        return lambda seconds: timedelta(seconds=seconds)
    if kind is datetime:
        return datetime.fromisoformat
    return kind if _is_enum(kind) else None


def unless_none(convert: Convert) -> Convert:
    """Return the same conversion, but None stays None."""
    return lambda value: None if value is None else convert(value)


def split_optional(hint: Any) -> tuple[Any, bool]:
    """Return a type without None, and whether it allowed None."""
    if get_origin(hint) not in (Union, UnionType):
        return hint, False
    kinds = [each for each in get_args(hint) if each is not NoneType]
    return Union[tuple(kinds)], len(kinds) < len(get_args(hint))  # noqa: UP007 (made at run time)


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Enum)
