"""Cursors: where a list goes on, as text that callers only pass back."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

from kairos.errors import BadCursor
from kairos.machine.names import LARGEST_ID

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
