"""Months and dates of the year."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from kairos.schedule.english.draft import DayChoice
from kairos.schedule.english.vocabulary import FEASTS, MONTHS
from kairos.schedule.english.weekday_words import RANGES, weekdays_of
from kairos.schedule.plan.days import month_length
from kairos.schedule.plan.normal_form import LONGEST

if TYPE_CHECKING:
    from kairos.schedule.english.lexer import Token
    from kairos.schedule.english.token_reader import TokenReader


def read_months(reader: TokenReader) -> tuple[int, ...]:
    """Read months: “january”, “march, june and september”, “january through march”."""
    found: list[int] = []
    while True:
        mark = reader.index
        if found:
            if not reader.accept_separator():
                break
            reader.accept("in")
        token = reader.peek()
        if token.kind != "word" or token.text not in MONTHS or (found and _is_date(reader)):
            reader.index = mark
            break
        reader.take()
        first = last = MONTHS[token.text]
        if reader.at(*RANGES) and reader.peek(1).text in MONTHS:
            reader.take()
            last = MONTHS[reader.take().text]
            if last == first:
                reader.refuse("A range from a month to itself is either one month or a whole year.", mark)
        found.extend((first - 1 + n) % 12 + 1 for n in range((last - first) % 12 + 1))
    return tuple(sorted(set(found)))


def _is_date(reader: TokenReader) -> bool:
    following = reader.peek(1)
    return following.kind == "ordinal" or (following.kind == "number" and len(following.raw) < 3)


def read_year(reader: TokenReader) -> int | None:
    """Read a year of four digits after a date."""
    mark = reader.index
    reader.accept(",")
    token = reader.peek()
    digits = token.kind == "number" and len(token.raw) == 4 and token.raw.isdigit()
    if digits and 1970 <= token.value <= 9_998 and not reader.kind("meridiem", ahead=1):
        reader.take()
        return token.value
    reader.index = mark
    return None


def read_annual(reader: TokenReader) -> DayChoice | None:
    """Read a date with a named month: “24 December 2026”, “aug 20 and 30”, “the 4th of july”."""
    mark = reader.index
    if starts_named_day(reader):
        found = next(each for words, each in FEASTS.items() if reader.accept_phrase(*words))
        return _dated(reader, mark, found[0], [found[1]])
    if reader.kind("ordinal", ahead=1):
        reader.accept("the")
    token = reader.peek()
    if token.kind == "word" and token.text in MONTHS:
        return _month_first(reader, mark)
    if token.kind not in ("number", "ordinal") or "." in token.text:
        reader.index = mark
        return None
    days = _day_numbers(reader)
    reader.accept("of")
    month = reader.peek()
    if not days or month.kind != "word" or month.text not in MONTHS or _shared_months(reader):
        reader.index = mark
        return None
    if reader.at("that", ahead=1):
        reader.index = mark  # “the 29th of February that has one” is an ordinal, not a date
        return None
    reader.take()
    return _dated(reader, mark, MONTHS[month.text], days)


def starts_named_day(reader: TokenReader, ahead: int = 0) -> bool:
    """Whether the name of a day with a fixed date begins here: “New Year's Eve”."""
    return any(
        all(reader.at(word, ahead=ahead + index) for index, word in enumerate(words)) for words in FEASTS
    )


def _shared_months(reader: TokenReader) -> bool:
    """Whether another month follows, as in “the 15th of January and February”: an ordinal, not a date."""
    return (
        reader.at("and", ",", *RANGES, ahead=1)
        and reader.peek(2).text in MONTHS
        and not _is_date_at(reader, 2)
    )


def _is_date_at(reader: TokenReader, ahead: int) -> bool:
    following = reader.peek(ahead + 1)
    return following.kind == "ordinal" or (following.kind == "number" and len(following.raw) < 3)


def _month_first(reader: TokenReader, mark: int) -> DayChoice | None:
    month = reader.take()
    reader.accept("the")
    if reader.kind("number") and _is_time(reader, 0):
        reader.index = mark
        return None
    days = _day_numbers(reader)
    if not days:
        reader.index = mark
        return None
    return _dated(reader, mark, MONTHS[month.text], days)


def _is_time(reader: TokenReader, ahead: int) -> bool:
    token, following = reader.peek(ahead), reader.peek(ahead + 1)
    # People say “12 noon” but not “12 midday”, so there 12 is a day.
    named = following.text in ("oclock", "noon", "midnight")
    return following.kind == "meridiem" or named or len(token.raw) > 2


def _day_numbers(reader: TokenReader) -> list[int]:
    found: list[int] = []
    while True:
        mark = reader.index
        if found:
            if not (reader.accept("and", "&") or (reader.accept(",") and (reader.accept("and") or True))):
                return found
            reader.accept("the")
        token = reader.peek()
        plain = (
            token.kind == "number" and len(token.raw) < 3 and not token.spelled and not _is_time(reader, 0)
        )
        if not (plain or token.kind == "ordinal") or (found and _names_another(reader)):
            reader.index = mark
            return found
        reader.take()
        found.append(token.value)


def _names_another(reader: TokenReader) -> bool:
    """Whether the number here belongs to what follows: the day of another month, or an n-th weekday."""
    return weekdays_of(reader, ahead=1) is not None or reader.at("last", "day", ahead=1)


def _dated(reader: TokenReader, mark: int, month: int, days: list[int]) -> DayChoice:
    year = read_year(reader)
    for day in days:
        longest = LONGEST[month - 1] if year is None else month_length(year, month)
        if not 1 <= day <= longest:
            reader.refuse(f"There is no such day: that month has {longest} days.", mark)
    if year is not None and len(days) > 1:
        reader.refuse("Give one date with a year.", mark)
    exact = date(year, month, days[0]) if year is not None else None
    return DayChoice(mark, reader.index - 1, month=month, days=tuple(days), year=year, date=exact)


def numeric_date(reader: TokenReader, token: Token) -> date:
    """A date in digits; refused unless only one order of day and month is possible."""
    if token.kind == "date":
        year, month, day = (int(piece) for piece in token.text.replace("/", "-").split("-"))
        readings = [(year, month, day)]
    else:
        first, second, year = (int(piece) for piece in token.text.replace(".", "/").split("/"))
        readings = list(dict.fromkeys([(year, first, second), (year, second, first)]))
    valid = [
        r
        for r in readings
        if 1 <= r[1] <= 12 and 1970 <= r[0] <= 9_998 and 1 <= r[2] <= month_length(r[0], r[1])
    ]
    if not valid:
        reader.refuse(f"{token.raw} is not a date.")
    if len(valid) > 1:
        written = tuple(f"{y:04}-{m:02}-{d:02}" for y, m, d in valid)
        start, end = token.start, token.end
        reader.refuse(
            f"{token.raw} is {written[0]} (month first) or {written[1]} (day first).",
            suggestions=tuple(_dated_suggestion(reader.text, start, end, option) for option in written),
        )
    return date(*valid[0])


def _dated_suggestion(text: str, start: int, end: int, written: str) -> str:
    whole = f"{text[:start]}{written}{text[end:]}".strip()
    return whole if whole != written else f"{written} at 09:00"
