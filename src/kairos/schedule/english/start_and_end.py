"""Single days, and where a schedule starts and ends."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING

from kairos.schedule.english.dates import numeric_date, read_annual, read_year
from kairos.schedule.english.draft import DayChoice
from kairos.schedule.english.times_of_day import read_time, resolve
from kairos.schedule.english.vocabulary import MONTHS, NAMED_TIMES, WEEKDAY_NAMES
from kairos.schedule.english.weekday_words import weekdays_of
from kairos.schedule.plan.days import month_length
from kairos.schedule.timezones import day_seconds, instant_of, resolve_local

if TYPE_CHECKING:
    from kairos.schedule.english.draft import Limits
    from kairos.schedule.english.token_reader import TokenReader


def read_day(reader: TokenReader, since: date | None = None) -> date | None:
    """Read one day: today, tomorrow, a date, the coming weekday; consume nothing if there is none."""
    mark = reader.index
    if reader.accept("today"):
        return reader.today
    if reader.accept("tomorrow"):
        return reader.in_days(1)
    reader.accept("the")
    if reader.accept_phrase("day", "after", "tomorrow"):
        return reader.in_days(2)
    reader.index = mark
    if reader.kind("date", "slashed"):
        found = numeric_date(reader, reader.peek())
        reader.take()
        return found
    dated = read_annual(reader)
    if dated is not None:
        return _one_date(reader, dated, since or reader.today)
    return _weekday(reader)


def _one_date(reader: TokenReader, choice: DayChoice, since: date) -> date:
    if choice.date is not None:
        return choice.date
    if len(choice.days) > 1 or choice.month is None:
        reader.refuse("Give one date here.", choice.first)
    return next_annual(choice.month, choice.days[0], since)


def next_annual(month: int, day: int, since: date) -> date:
    """The first date with this month and day from `since` on."""
    for year in range(since.year, since.year + 9):
        if day <= month_length(year, month) and date(year, month, day) >= since:
            return date(year, month, day)
    raise AssertionError("every date of the year comes within eight years")


def _weekday(reader: TokenReader) -> date | None:
    mark = reader.index
    if reader.at("next", "last", "this", "coming") and weekdays_of(reader, ahead=1):
        word = reader.take()
        if word.text in ("next", "last"):
            reader.take()
            refuse_next(reader, mark)
    found = weekdays_of(reader)
    if found is None or len(found[0]) != 1 or found[1]:
        reader.index = mark
        return None
    reader.take()
    named = read_after_weekday(reader, found[0][0], mark)
    return named if named is not None else coming_weekday(reader, found[0][0], mark)


def read_after_weekday(reader: TokenReader, weekday: int, mark: int) -> date | None:
    """Read a full date after a weekday, which must be its weekday: “Friday, 18 July 2014”."""
    before = reader.index
    reader.accept(",")
    if reader.kind("ordinal", ahead=1):
        reader.accept("the")
    if reader.kind("date", "slashed"):
        day = numeric_date(reader, reader.peek())
        reader.take()
    else:
        dated = read_annual(reader)
        if dated is None:
            reader.index = before
            return None
        day = _one_date(reader, dated, reader.today)
    if day.weekday() != weekday:
        reader.refuse(f"{day.isoformat()} is a {WEEKDAY_NAMES[day.weekday()]}.", mark, until=reader.index)
    return day


def coming_weekday(reader: TokenReader, weekday: int, mark: int) -> date:
    ahead = (weekday - reader.today.weekday()) % 7
    if ahead == 0:
        today, later = reader.today.isoformat(), reader.in_days(7).isoformat()
        reader.refuse(
            f"Today is {WEEKDAY_NAMES[weekday]}: {today} or {later}?",
            mark,
            (*reader.rewritten(mark, mark + 1, today), *reader.rewritten(mark, mark + 1, later)),
            until=mark + 1,
        )
    return reader.in_days(ahead)


def refuse_next(reader: TokenReader, mark: int) -> None:
    """Refuse “next friday”, which may be in this week or in the next."""
    word, name = reader.tokens[mark].text, reader.tokens[mark + 1].text
    found = weekdays_of(reader, ahead=mark + 1 - reader.index)
    if word == "last" or found is None or len(found[0]) != 1:
        reader.refuse(f"“{word} {name}” lies in the past.", mark, until=mark + 2)
    ahead = (found[0][0] - reader.today.weekday() - 1) % 7 + 1
    first, second = reader.in_days(ahead).isoformat(), reader.in_days(ahead + 7).isoformat()
    reader.refuse(
        f"“next {name}” is {first} to some and {second} to others.",
        mark,
        (*reader.rewritten(mark, mark + 2, first), *reader.rewritten(mark, mark + 2, second)),
        until=mark + 2,
    )


def read_start(reader: TokenReader, limits: Limits, mark: int, timed: bool) -> bool:
    """Read the start of a schedule after “starting”, “from” and the like: a day, with a time only if `timed`."""
    before = reader.index
    for filler in ("on", "at", "as", "of", "with", "in"):
        reader.accept(filler)
    if reader.at("now"):
        reader.take()
        reader.accept("on")
        return True
    if reader.kind("instant"):
        found: date | datetime | None = read_instant(reader)
    else:
        found = _day_and_time(reader, reader.today, timed)
    if found is None:
        if reader.peek().text in MONTHS:
            reader.refuse("On which day of that month does it start?")
        reader.index = before
        return False
    if limits.start is not None:
        reader.refuse("The start is said twice.", mark)
    limits.start, limits.start_time, limits.start_at = found, isinstance(found, datetime), mark
    return True


def read_end(reader: TokenReader, limits: Limits, mark: int, timed: bool) -> bool:
    """Read the end of a schedule after “until” and the like: its last day or its last instant."""
    before = reader.index
    for filler in ("on", "at", "to", "and", "including"):
        reader.accept(filler)
    since = limits.start.date() if isinstance(limits.start, datetime) else limits.start
    found: date | datetime | None
    if reader.kind("instant"):
        found = read_instant(reader)
    else:
        found = _period_end(reader) or _day_and_time(reader, since or reader.today, timed)
    if found is None:
        if reader.peek().text in MONTHS or (reader.kind("number") and len(reader.peek().raw) == 4):
            reader.refuse(
                "Until its first day or its last? Give a date.", suggestions=_end_suggestions(reader)
            )
        reader.index = before
        return False
    if limits.end is not None:
        reader.refuse("The end is said twice.", mark)
    limits.end, limits.end_at = found, mark
    return True


def _end_suggestions(reader: TokenReader) -> tuple[str, ...]:
    return (f"every day at 09:00 until {reader.today.year + 1}-12-31",)


def _period_end(reader: TokenReader) -> date | None:
    mark = reader.index
    reader.accept("the")
    if reader.accept("end") and reader.accept("of"):
        reader.accept("the", "this")
        if reader.accept("month"):
            return reader.today.replace(day=month_length(reader.today.year, reader.today.month))
        if reader.accept("year"):
            return date(reader.today.year, 12, 31)
        month = reader.peek()
        if month.kind == "word" and month.text in MONTHS:
            reader.take()
            number = MONTHS[month.text]
            year = read_year(reader) or reader.today.year + (number < reader.today.month)
            return date(year, number, month_length(year, number))
        year_token = reader.peek()
        if year_token.kind == "number" and len(year_token.raw) == 4:
            reader.take()
            return date(year_token.value, 12, 31)
    reader.index = mark
    return None


def _day_and_time(reader: TokenReader, since: date, timed: bool) -> date | datetime | None:
    mark = reader.index
    timely = reader.kind("clock") or reader.kind("meridiem", ahead=1) or reader.at(*NAMED_TIMES)
    leading = read_time(reader, False) if timely else None
    if leading is not None:
        reader.accept("on")
    day = read_day(reader, since)
    if day is None:
        if leading is not None:
            reader.refuse(
                "At that time on one day, or at that time every day? Give the date, or both ends of a window.",
                mark,
                (
                    f"every hour from {reader.in_days(1).isoformat()} 09:00",
                    "every hour from 09:00 to 17:00",
                ),
            )
        return None
    time = leading
    if time is None and not timed:
        return day
    if time is None:
        before = reader.index
        reader.accept(",")
        at = reader.accept("at", "@")
        time = read_time(reader, at is not None) if at or reader.kind("clock") else None
        if time is None:
            reader.index = before
            return day
    placed = resolve_local(reader.zone, day_seconds(day.toordinal()) + resolve(reader, [time], None)[0])
    if placed.gap or placed.other is not None:
        reader.refuse("That local time is skipped or repeated by daylight saving.", mark)
    return instant_of(placed.at)


def read_instant(reader: TokenReader) -> datetime:
    token = reader.take()
    try:
        return instant_of(int(datetime.fromisoformat(token.raw.upper().replace("Z", "+00:00")).timestamp()))
    except ValueError:
        reader.refuse(f"{token.raw} is not an instant.", reader.index - 1)
