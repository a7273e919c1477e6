"""Weekdays: one, a list, a range, or one that falls on a day of the month."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kairos.schedule.english.draft import DayChoice, Ordinal
from kairos.schedule.english.ordinals import read_ordinal_list
from kairos.schedule.english.weekday_words import RANGES, weekdays_of

if TYPE_CHECKING:
    from kairos.schedule.english.token_reader import TokenReader


def read_weekdays(reader: TokenReader, joined: bool = True) -> DayChoice | None:
    """“monday”, “mon-fri”, “tuesdays and thursdays”, “friday the 13th”."""
    mark = reader.index
    found: list[int] = []
    plural = False
    while True:
        before = reader.index
        if found:
            if not joined or not reader.accept_separator():
                break
            reader.accept("on")
            if plural or _recurs(reader, mark):
                reader.accept("every", "each")
        one = weekdays_of(reader)
        if one is None:
            reader.index = before
            break
        days, more, size = one
        reader.index += size
        if _recurs(reader, mark) and reader.at("until", "till") and weekdays_of(reader, ahead=1):
            _refuse_until(reader)
        end = _range_end(reader) if len(days) == 1 else None
        if end is not None:
            last, last_plural = end
            if last == days[0]:
                reader.refuse("A range from a weekday to itself is either one day or a whole week.", before)
            days = tuple((days[0] + n) % 7 for n in range((last - days[0]) % 7 + 1))
            plural = plural or last_plural or True
        plural = plural or more or (len(days) > 1)
        found.extend(days)
    if not found:
        return None
    ordinals = _falling_on(reader, found)
    return DayChoice(mark, reader.index - 1, tuple(sorted(set(found))), plural=plural, ordinals=ordinals)


def _recurs(reader: TokenReader, mark: int) -> bool:
    return mark > 0 and reader.tokens[mark - 1].text in ("every", "each")


def _refuse_until(reader: TokenReader) -> None:
    """Refuse “every monday until friday”: five days a week, or Mondays up to a certain Friday?"""
    first, last = reader.tokens[reader.index - 1].raw, reader.tokens[reader.index + 1].raw
    reader.refuse(
        f"The days from {first} to {last}, or each {first} before a {last}?",
        suggestions=(
            f"every {first} to {last} at 09:00",
            f"every {first} at 09:00 until {reader.in_days(30)}",
        ),
        until=reader.index + 2,
    )


def _range_end(reader: TokenReader) -> tuple[int, bool] | None:
    if not reader.at(*RANGES):
        return None
    end = weekdays_of(reader, ahead=1)
    if end is None or len(end[0]) != 1:
        return None
    reader.index += 2
    return end[0][0], end[1]


def _falling_on(reader: TokenReader, weekdays: list[int]) -> tuple[Ordinal, ...]:
    """Read the day of the month after a weekday, as in “friday the 13th”; both must match."""
    mark = reader.index
    if not reader.accept_phrase("falling", "on"):
        if len(weekdays) != 1 or not (reader.at("the") and reader.kind("ordinal", ahead=1)):
            return ()
        if not reader.accept("the"):
            return ()
        token = reader.take()
        if reader.at("of", "in", "day", "last") or weekdays_of(reader) or reader.at("to"):
            reader.index = mark
            return ()
        return (Ordinal(token.value, "day"),)
    reader.accept("the")
    found = read_ordinal_list(reader)
    return tuple(Ordinal(n, "day") for n in found)
