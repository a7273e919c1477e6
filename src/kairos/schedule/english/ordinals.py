"""Ordinals: the n-th day, weekday or business day, and what they count within."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kairos.schedule.english.dates import read_months, read_year
from kairos.schedule.english.draft import DayChoice, Noun, Ordinal, Scope
from kairos.schedule.english.weekday_words import RANGES, weekdays_of

if TYPE_CHECKING:
    from kairos.schedule.english.token_reader import TokenReader


def read_ordinal_list(reader: TokenReader, ranged: bool = False) -> list[int]:
    """Read ordinals: “1st and 15th”, “first, third and last”; with `ranged` also “25th to the last”."""
    found: list[int] = []
    while True:
        mark = reader.index
        if found:
            if not reader.accept_separator():
                return found
            reader.accept("the")
        one = read_ordinal(reader, ranged)
        if one is None:
            reader.index = mark
            return found
        before = reader.index
        if reader.accept(*RANGES):
            reader.accept("the")
            last = read_ordinal(reader)
            if last is None:
                reader.index = before
            elif one < 1 or not (last == -1 or last > one):
                reader.refuse("This range of days runs backwards.", mark)
            else:
                found.extend(range(one, 32 if last == -1 else last + 1))
                continue
        found.append(one)


def read_ordinal(reader: TokenReader, ranged: bool = False) -> int | None:
    """Read one ordinal: “1st”, “last”, “2nd to last”, “third last”, “penultimate”."""
    mark = reader.index
    if reader.accept("last", "final"):
        return -1
    if reader.accept("penultimate"):
        return -2
    token = reader.peek()
    if token.kind != "ordinal":
        return None
    reader.take()
    if reader.accept("-"):
        if reader.at("to"):
            pass
        elif not reader.at("last"):
            reader.index -= 1
            return token.value
    if reader.accept("last"):
        return -token.value
    inner = reader.index
    if not ranged and reader.accept("to"):
        reader.accept("-")
        reader.accept("the")
        if reader.accept("last"):
            return _to_last(reader, mark)
        reader.index = inner
    if token.value == 0 or token.value > 366:
        reader.refuse(f"There is no {token.raw}.", mark)
    return token.value


def _to_last(reader: TokenReader, mark: int) -> int:
    """Read “to last” after an ordinal, which counts from the end; refuse “10th to last”, which may be a range."""
    token = reader.tokens[mark]
    if not 1 < token.value < 5:
        reader.refuse(
            f"“{token.raw} to last” is one day to some and a range of days to others.",
            mark,
            (
                f"on the {token.raw} last day of each month at 09:00",
                f"from the {token.raw} to the last day of each month at 09:00",
            ),
        )
    return -token.value


def read_ordinals(reader: TokenReader, ranged: bool = False) -> DayChoice | None:
    """Read ordinals with what they count and within what: “the first and last friday of each month”."""
    mark = reader.index
    items: list[Ordinal] = []
    scope: Scope | None = None
    while True:
        before = reader.index
        if items and (scope is not None or not reader.accept_separator()):
            break
        reader.accept("the")
        numbers = read_ordinal_list(reader, ranged)
        if not numbers:
            reader.index = before
            break
        noun, weekday = _noun(reader)
        items.extend(Ordinal(n, noun, weekday) for n in numbers)
        scope = read_scope(reader)
    if not items:
        reader.index = mark
        return None
    return DayChoice(mark, reader.index - 1, ordinals=tuple(items), scope=scope)


def _noun(reader: TokenReader) -> tuple[Noun, int]:
    if reader.accept("day", "days"):
        return "day", 0
    found = weekdays_of(reader)
    if found is None:
        return "day", 0
    days, _, size = found
    if days == (0, 1, 2, 3, 4):
        reader.index += size
        reader.accept_phrase("(", "monday", "to", "friday", ")")
        return "business", 0
    if len(days) > 1:
        reader.refuse("Which day of the weekend: Saturday or Sunday?")
    mark = reader.index
    reader.index += 1
    if reader.accept("and", ",", "/"):
        also = weekdays_of(reader)
        reader.index = mark + 1
        if also is not None:
            reader.refuse(
                "Say the ordinal of each weekday: it is not clear whether it counts them together.",
                mark,
                ("first monday and first friday of each month at 09:00",),
                until=mark + 3,
            )
    return "weekday", days[0]


def read_scope(reader: TokenReader) -> Scope | None:
    """Read what ordinals count within: “of each month”, “in november”, “of every 3 months”, “of next month”."""
    mark = reader.index
    if not reader.accept("of", "in"):
        return None
    scope = _scope(reader)
    if scope is None:
        reader.index = mark
        return None
    lenient = False
    if reader.at("that") and reader.at("has", "have", ahead=1) and reader.peek(2).text == "one":
        reader.index += 3
        lenient = True
    return replace(scope, lenient=lenient)


def _scope(reader: TokenReader) -> Scope | None:
    each = reader.accept("each", "every", "the", "a", "any", "all")
    said = each is not None and each.text in ("each", "every", "any", "all")
    if said:
        stepped = _month_step(reader)
        if stepped:
            return Scope("step", every=stepped)
    if reader.accept("month", "months"):
        return Scope("month", each=said)
    if reader.accept("quarter", "quarters"):
        return Scope("quarter", each=said)
    if reader.accept("year", "years"):
        return Scope("year", each=said)
    which = reader.accept("this", "next", "current", "following")
    if which and reader.accept("month"):
        ahead = 1 if which.text in ("next", "following") else 0
        months = reader.today.year * 12 + reader.today.month - 1 + ahead
        return Scope("concrete", (months % 12 + 1,), year=months // 12)
    if which:
        return None
    months_named = read_months(reader)
    if not months_named:
        return None
    year = read_year(reader)
    if year is not None and len(months_named) > 1:
        reader.refuse("Name one month with its year.")
    return Scope("concrete" if year else "months", months_named, year=year)


def _month_step(reader: TokenReader) -> int | None:
    mark = reader.index
    every = 0
    token = reader.peek()
    if reader.accept("other", "second"):
        every = 2
    elif token.kind in ("number", "ordinal"):
        reader.take()
        every = token.value
    if every > 1 and reader.accept("month", "months"):
        return every
    reader.index = mark
    return None
