"""Time zones in English texts: “in London”, “New York time”, “UTC”, “(Europe/Berlin)”."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kairos.schedule import timezones
from kairos.schedule.english.vocabulary import NAMED_TIMES
from kairos.schedule.zone_aliases import ABBREVIATIONS, AMBIGUOUS_PLACES

if TYPE_CHECKING:
    from kairos.schedule.english.draft import Limits
    from kairos.schedule.english.token_reader import TokenReader

LONGEST_NAME = 4


def read_zone(reader: TokenReader, limits: Limits, after_in: bool) -> bool:
    """Read a time zone; return False and consume nothing if there is none."""
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


def _named(reader: TokenReader, announced: bool) -> str | None:
    token = reader.peek()
    if token.kind == "zone":
        found = timezones.find_zone(token.raw)
        if found is None:
            _refuse_misspelled(reader, f"{token.raw} is not a time zone", token.raw, 1)
            reader.refuse(f"{token.raw} is not a time zone.")
        reader.take()
        return found
    for words in range(LONGEST_NAME, 0, -1):
        if (read := _name(reader, words)) is None:
            continue
        name, size = read
        if size == 1 and name.lower() in ABBREVIATIONS:
            _refuse_abbreviation(reader, name)
        if not (announced or _clear_alone(reader, name, size)):
            continue
        found = timezones.find_zone(name)
        if found is not None:
            reader.index += size
            return found
        if announced and timezones.place_key(name) in AMBIGUOUS_PLACES:
            _refuse_place(reader, name, size)
    return None


def _name(reader: TokenReader, words: int) -> tuple[str, int] | None:
    """The next words as one name, and how many tokens that are; a hyphen without spaces joins two words."""
    name, size = "", 0
    for _ in range(words):
        if name and reader.at("-", ahead=size) and reader.peek(size).glued and reader.peek(size + 1).glued:
            name += "-"
            size += 1
        elif name:
            name += " "
        if not reader.kind("word", ahead=size):
            return None
        name += reader.peek(size).raw
        size += 1
    return name, size


def refuse_misspelled_place(reader: TokenReader) -> None:
    """Refuse an unknown word after “in” that is spelled almost like a place, with that place; else do nothing."""
    if not reader.index or reader.tokens[reader.index - 1].text not in ("in", "("):
        return
    for words in range(LONGEST_NAME, 0, -1):
        if (read := _name(reader, words)) is not None and not reader.at("the"):
            _refuse_misspelled(reader, f"“{read[0]}” is not a place that it knows", *read)


def _refuse_misspelled(reader: TokenReader, message: str, name: str, size: int) -> None:
    if close := tuple(timezones.similar_zones(name)):
        _refuse_for(reader, f"{message}; {close[0]}?", close, size)


def _clear_alone(reader: TokenReader, name: str, size: int) -> bool:
    """Whether a zone name is clear without “in”: UTC, ET in capitals, after a time of day, before “time”."""
    if name.upper() in ("UTC", "GMT", "ZULU") or name in ("ET", "PT", "Z"):
        return True
    before = reader.tokens[reader.index - 1] if reader.index else None
    if before and (before.kind in ("clock", "meridiem") or before.text in NAMED_TIMES) and len(name) > 2:
        return True
    return reader.at("time", ahead=size) or (
        reader.at("local", ahead=size) and reader.at("time", ahead=size + 1)
    )


def _refuse_place(reader: TokenReader, name: str, size: int) -> None:
    _refuse_for(
        reader,
        f"“{name}” is more than one place, or not the one that the time zone is named after: name the zone.",
        AMBIGUOUS_PLACES[timezones.place_key(name)],
        size,
    )


def _refuse_abbreviation(reader: TokenReader, name: str) -> None:
    _refuse_for(
        reader,
        f"{name} names an offset that changes with the season or the country: name the zone.",
        ABBREVIATIONS[name.lower()],
        1,
    )


def _refuse_for(reader: TokenReader, message: str, options: tuple[str, ...], size: int) -> None:
    start, end = reader.peek().start, reader.peek(size - 1).end
    before = reader.text[:start].rstrip()
    joiner = before if before.endswith(("(", " in")) else f"{before} in"
    reader.refuse(
        message,
        reader.index,
        tuple(
            f"{joiner if joiner.endswith('(') else joiner + ' '}{option}{reader.text[end:]}"
            for option in options
        ),
        until=reader.index + size,
    )
