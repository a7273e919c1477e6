"""Time zones as they are written: “in London”, “New York time”, “UTC”, “(Europe/Berlin)”."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import zones
from .english_times import NAMED_TIMES
from .places import ABBREVIATIONS

if TYPE_CHECKING:
    from .draft import Limits
    from .reader import Reader

LONGEST_NAME = 4


def read_zone(reader: Reader, limits: Limits, after_in: bool) -> bool:
    """A time zone, or nothing (and nothing taken)."""
    mark = reader.index
    opened = reader.accept("(")
    if reader.accept_phrase("time", "zone") or reader.accept("timezone", "tz"):
        after_in = True
    found = _named(reader, after_in or opened is not None)
    if found is None:
        reader.index = mark
        return False
    reader.accept("local")
    if reader.accept("time"):
        reader.accept("zone")
    else:
        reader.accept("timezone")
    if opened is not None and not reader.accept(")"):
        reader.refuse("The parenthesis is not closed.", mark)
    if limits.zone is not None and limits.zone != found:
        reader.refuse("The time zone is said twice.", mark, until=reader.index)
    limits.zone = found
    return True


def _named(reader: Reader, announced: bool) -> str | None:
    token = reader.peek()
    if token.kind == "zone":
        found = zones.find(token.raw)
        if found is None:
            reader.refuse(f"{token.raw} is not a time zone.")
        reader.take()
        return found
    for size in range(LONGEST_NAME, 0, -1):
        pieces = [reader.peek(n) for n in range(size)]
        if any(piece.kind != "word" for piece in pieces):
            continue
        name = " ".join(piece.raw for piece in pieces)
        if size == 1 and name.lower() in ABBREVIATIONS:
            _refuse_abbreviation(reader, name)
        if not (announced or _clear_alone(reader, name, size)):
            continue
        found = zones.find(name)
        if found is not None:
            reader.index += size
            return found
    return None


def _clear_alone(reader: Reader, name: str, size: int) -> bool:
    """Whether a name may stand without “in”: UTC, ET in capitals, after a time of day, or before “time”."""
    if name.upper() in ("UTC", "GMT", "ZULU") or name in ("ET", "PT", "Z"):
        return True
    before = reader.tokens[reader.index - 1] if reader.index else None
    if before and (before.kind in ("clock", "meridiem") or before.text in NAMED_TIMES) and len(name) > 2:
        return True
    return reader.at("time", ahead=size) or (
        reader.at("local", ahead=size) and reader.at("time", ahead=size + 1)
    )


def _refuse_abbreviation(reader: Reader, name: str) -> None:
    options = ABBREVIATIONS[name.lower()]
    start, end = reader.peek().start, reader.peek().end
    before = reader.text[:start].rstrip()
    joiner = before if before.endswith(("(", " in")) else f"{before} in"
    reader.refuse(
        f"{name} names an offset that changes with the season or the country: name the zone.",
        suggestions=tuple(
            f"{joiner if joiner.endswith('(') else joiner + ' '}{option}{reader.text[end:]}"
            for option in options
        ),
    )
