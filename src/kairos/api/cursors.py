"""Cursors of paginated lists: opaque text that a client passes back to get the next page."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import Query
from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from kairos import serializers
from kairos.errors import BadCursor, BadRequest
from kairos.machine.field_checks import LARGEST_ID, MAX_NAME, check_name

T = TypeVar("T")


def _is_a_name(cursor: str) -> str:
    try:
        check_name(cursor, "cursor")
    except BadRequest:
        raise PydanticCustomError("cursor", "no list returned this cursor: start again without one") from None
    return cursor


# In lists in ascending order of id or name, the cursor is the last id or name of the page before.
AfterId = Annotated[
    int | None, Query(ge=0, le=LARGEST_ID, description="The `nextCursor` of the page before.")
]
AfterName = Annotated[
    Annotated[str, AfterValidator(_is_a_name)] | None,
    Query(min_length=1, max_length=MAX_NAME, description="The `nextCursor` of the page before."),
]
Before = Annotated[str | None, Query(max_length=100, description="The `nextCursor` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]


def page(
    found: Sequence[T], limit: int, cursor_of: Callable[[T], int | str]
) -> tuple[Sequence[T], str | None]:
    """Return the first `limit` rows, and the cursor of the next page or None at the end.

    `found` has a row more than `limit` if there is a next page; `cursor_of` returns the cursor after a row.
    """
    return found[:limit], str(cursor_of(found[limit - 1])) if len(found) > limit else None


# How many rows `pages_within` reads at a time.
_CHUNK = 20


async def pages_within(
    read: Callable[[str | None, int], Awaitable[Sequence[T]]],
    show: Callable[[T], Any],
    cursor_of: Callable[[T], str],
    *,
    after: str | None,
    limit: int,
    most: int,
) -> tuple[list[Any], str | None]:
    """Read a page a few rows at a time, until it has `limit` rows or `most` bytes; return its documents and cursor."""
    shown: list[Any] = []
    size = 0
    while True:
        wanted = min(_CHUNK, limit - len(shown))
        found = await read(after, wanted + 1)
        for each in found[:wanted]:
            shown.append(show(each))
            size += len(serializers.encode(shown[-1]))
            after = cursor_of(each)
            if size >= most:
                return shown, after
        if len(found) <= wanted:
            return shown, None
        if len(shown) == limit:
            return shown, after


_MARK = b"before:"
_SHAPE = re.compile(rb"before:([1-9][0-9]{0,18})")


def write(before: int | None) -> str | None:
    """Return the cursor that continues a list before an id; None at its end."""
    return None if before is None else urlsafe_b64encode(_MARK + str(before).encode()).decode().rstrip("=")


def read(cursor: str | None) -> int | None:
    """Return the id in a cursor; raise `BadCursor` if `write` did not make it."""
    if cursor is None:
        return None
    try:
        found = _SHAPE.fullmatch(urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)))
    except ValueError:
        found = None
    if found is None or int(found[1]) > LARGEST_ID or write(int(found[1])) != cursor:
        raise bad_cursor()
    return int(found[1])


def bad_cursor() -> BadCursor:
    """Return the error for a cursor that no list returned."""
    return BadCursor("The cursor is not one that a list returned: start again without one.", field="cursor")
