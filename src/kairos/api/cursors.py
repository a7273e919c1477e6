"""Cursors: where a list goes on, as text that callers only pass back."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from fastapi import Query
from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from kairos.errors import BadCursor, BadRequest
from kairos.machine.names import LARGEST_ID, MAX_NAME, check_name

T = TypeVar("T")


def _is_a_name(cursor: str) -> str:
    try:
        check_name(cursor, "cursor")
    except BadRequest:
        raise PydanticCustomError("cursor", "no list gave this out: start again without one") from None
    return cursor


# Lists that go up by an id or by a name go on after the last of the page before.
AfterId = Annotated[
    int | None, Query(ge=0, le=LARGEST_ID, description="The `nextCursor` of the page before.")
]
AfterName = Annotated[
    Annotated[str, AfterValidator(_is_a_name)] | None,
    Query(min_length=1, max_length=MAX_NAME, description="The `nextCursor` of the page before."),
]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]


def page(found: Sequence[T], limit: int, place: Callable[[T], int | str]) -> tuple[Sequence[T], str | None]:
    """Of at most one more than `limit`: the page, and the cursor of the next one; None at the end."""
    return found[:limit], str(place(found[limit - 1])) if len(found) > limit else None


_MARK = b"before:"
_SHAPE = re.compile(rb"before:([1-9][0-9]{0,18})")


def write(before: int | None) -> str | None:
    """The cursor of a list that goes on before an id; None at the end."""
    return None if before is None else urlsafe_b64encode(_MARK + str(before).encode()).decode().rstrip("=")


def read(cursor: str | None) -> int | None:
    """The id that a cursor stands for, or `BadCursor`."""
    if cursor is None:
        return None
    try:
        found = _SHAPE.fullmatch(urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)))
    except ValueError:
        found = None
    if found is None or int(found[1]) > LARGEST_ID or write(int(found[1])) != cursor:
        raise BadCursor("The cursor is none that a list gave out: start again without one.", field="cursor")
    return int(found[1])
