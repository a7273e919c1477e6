"""Read lists of whole numbers, such as “1, 5-10 and 15”."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kairos.schedule.english.weekday_words import RANGES

if TYPE_CHECKING:
    from kairos.schedule.english.token_reader import TokenReader


def read_numbers(reader: TokenReader, lowest: int, highest: int, bounds: str) -> tuple[int, ...]:
    """Read numbers and return them in ascending order; refuse those out of range with the message `bounds`.

    A number with a fraction, of more than two digits, or before “am” or “pm” belongs to what follows.
    """
    found: set[int] = set()
    while True:
        mark = reader.index
        if found and not reader.accept_separator():
            break
        token = reader.peek()
        if (
            token.kind != "number"
            or not token.raw.isdigit()
            or len(token.raw) > 2
            or reader.kind("meridiem", ahead=1)
        ):
            reader.index = mark
            break
        reader.take()
        last = token.value
        if reader.at(*RANGES) and reader.kind("number", ahead=1):
            reader.take()
            last = reader.take().value
        if not lowest <= token.value <= last <= highest:
            reader.refuse(bounds, mark)
        found.update(range(token.value, last + 1))
    return tuple(sorted(found))
