"""The days on which a schedule does not run: weekdays, months, dates, ranges of dates, holidays."""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING

from kairos.schedule.english.compile_ordinals import ordinal_rules
from kairos.schedule.english.dates import numeric_date, read_annual, read_months, read_year
from kairos.schedule.english.draft import DayChoice
from kairos.schedule.english.ordinals import read_ordinals
from kairos.schedule.english.start_and_end import read_day
from kairos.schedule.english.weekday_words import RANGES
from kairos.schedule.english.weekdays import read_weekdays
from kairos.schedule.plan.days import month_length
from kairos.schedule.plan.normal_form import day_rule
from kairos.schedule.plan.recurrence import DayRule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kairos.schedule.english.draft import Limits
    from kairos.schedule.english.token_reader import TokenReader


def read_exceptions(reader: TokenReader, limits: Limits, calendars: Mapping[str, object]) -> None:
    """Read what follows “except”: days, months, dates, ranges of dates, holidays."""
    first = True
    while first or not reader.done:
        mark = reader.index
        if not first and not reader.accept_separator():
            return
        for filler in ("for", "on", "in", "at", "during", "every", "each", "any", "the"):
            if filler != "the" or not reader.kind("ordinal", ahead=1):
                reader.accept(filler)
        rules = _exception(reader)
        if rules is None and not _holidays(reader, limits, calendars):
            if first:
                reader.refuse(
                    "Except on which days?", suggestions=("every day at 09:00 except on 25 December",)
                )
            reader.index = mark
            return
        limits.exceptions.extend(rules or ())
        first = False


def _exception(reader: TokenReader) -> list[DayRule] | None:
    mark = reader.index
    for read in (_date_range, _days_of_one_month):
        spanned = read(reader)
        if spanned is not None:
            return spanned
        reader.index = mark
    if reader.kind("date", "slashed") or reader.at("today", "tomorrow"):
        day = read_day(reader)
        return [day_rule(dates=(day,))] if day else None
    annual = read_annual(reader)
    if annual is not None and annual.month is not None:
        if annual.date is not None:
            return [day_rule(dates=(annual.date,))]
        return [day_rule(months=(annual.month,), days=annual.days)]
    months = read_months(reader)
    if months:
        year = read_year(reader)
        if year is None:
            return [day_rule(months=months)]
        return [DayRule(span=(date(year, m, 1), date(year, m, month_length(year, m)))) for m in months]
    ordinals = read_ordinals(reader)
    if ordinals is not None:
        span = reader.tokens[ordinals.first : ordinals.last + 1]
        if any(
            one.spelled and one.kind == "ordinal" and after.text in ("of", "in")
            for one, after in pairwise(span)
        ):
            reader.refuse("The first of these days, or the first day? Say which.", mark)
        if ordinals.scope is None and any(item.noun != "day" for item in ordinals.ordinals):
            reader.refuse("Of which month?", mark)
        return ordinal_rules(reader, ordinals, (), ordinals.scope, lenient=True)
    weekdays = read_weekdays(reader)
    if weekdays is not None and not weekdays.ordinals:
        return [day_rule(weekdays=weekdays.weekdays)]
    reader.index = mark
    return None


def _date_range(reader: TokenReader) -> list[DayRule] | None:
    """Read “from 24 December to 2 January” (every year) or “between 2026-12-24 and 2027-01-02”."""
    opener = reader.accept("from", "between")
    first = _range_date(reader)
    if first is None or not reader.accept(*(("and", *RANGES) if opener else RANGES)):
        if opener and first:
            reader.refuse("Until which date?")
        return None
    last = _range_date(reader)
    if last is None:
        reader.refuse("Until which date?")
    if first.date is not None and last.date is not None:
        if last.date < first.date:
            reader.refuse("This range runs backwards.", first.first)
        return [DayRule(span=(first.date, last.date))]
    if first.date or last.date or first.month is None or last.month is None:
        reader.refuse("Give the year with both dates, or with neither.", first.first)
    return _annual_range(first.month, first.days[0], last.month, last.days[0])


def _days_of_one_month(reader: TokenReader) -> list[DayRule] | None:
    """Read “24-26 December” or “from the 24th to the 26th of December 2026”: the month is said once."""
    opener = reader.accept("from", "between")
    if reader.kind("ordinal", ahead=1):
        reader.accept("the")
    if not reader.kind("number", "ordinal") or "." in reader.peek().text:
        return None
    first = reader.take()
    last = _range_date(reader) if reader.accept(*(("and", *RANGES) if opener else RANGES)) else None
    if last is None or last.month is None or len(last.days) > 1:
        return None
    if not 1 <= first.value <= last.days[0]:
        reader.refuse("This range runs backwards.", last.first - 2)
    if last.date is not None:
        return [DayRule(span=(last.date.replace(day=first.value), last.date))]
    return _annual_range(last.month, first.value, last.month, last.days[0])


def _range_date(reader: TokenReader) -> DayChoice | None:
    mark = reader.index
    if reader.kind("date", "slashed"):
        found = numeric_date(reader, reader.peek())
        reader.take()
        return DayChoice(mark, mark, date=found)
    return read_annual(reader)


def _annual_range(month: int, day: int, last_month: int, last_day: int) -> list[DayRule]:
    if (last_month, last_day) < (month, day):
        return [*_annual_range(1, 1, last_month, last_day), *_annual_range(month, day, 12, 31)]
    rules = []
    for number in range(month, last_month + 1):
        low = day if number == month else 1
        high = last_day if number == last_month else 31
        rules.append(day_rule(months=(number,), days=range(low, high + 1)))
    return rules


def _holidays(reader: TokenReader, limits: Limits, calendars: Mapping[str, object]) -> bool:
    mark = reader.index
    words: list[str] = []
    while reader.kind("word") and len(words) < 3 and not reader.at("holidays", "holiday"):
        words.append(reader.take().raw)
    if not reader.accept("holidays", "holiday"):
        reader.index = mark
        return False
    wanted = " ".join(words).lower()
    names = {name.lower(): name for name in calendars}
    chosen = [names[n] for n in (wanted, f"{wanted} holidays".strip()) if n in names]
    if not wanted and not chosen and len(names) == 1:
        chosen = list(names.values())
    if not chosen:
        known = ", ".join(sorted(calendars)) or "none"
        reader.refuse(f"No such calendar of holidays is configured (configured: {known}).", mark)
    limits.holidays.append(chosen[0])
    return True
