"""The days of an RFC 5545 rule, and its periods: years, months, weeks or days."""

from __future__ import annotations

from bisect import bisect_left
from calendar import isleap
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING

from kairos.schedule.plan.days import month_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kairos.schedule.plan.recurrence import RRule

LAST_YEAR = 9_990


class RuleDays:
    """Find the matching days of a rule, as ordinals.

    Which days of a month match depends on the month, the weekday of 1 January, and whether this year and the one before
    are leap years. So a century without a match costs no more than the 28 kinds of year.
    """

    def __init__(self, rule: RRule) -> None:
        self._rule = rule
        self._months: dict[tuple[int, bool, bool, int], Sequence[int]] = {}

    def first_from(self, ordinal: int, last_year: int) -> int | None:
        """The first matching day from a day on, up to the end of `last_year`."""
        day = date.fromordinal(ordinal)
        year, month, at_least = day.year, day.month, day.day
        while year <= min(last_year, LAST_YEAR):
            found = self._month(year, month)
            index = bisect_left(found, at_least)
            if index < len(found):
                return date(year, month, found[index]).toordinal()
            year, month, at_least = (year, month + 1, 1) if month < 12 else (year + 1, 1, 1)
        return None

    def between(self, first: int, last: int) -> list[int]:
        """The matching days from a day up to another one of the same year or of the next."""
        year, month = date.fromordinal(first).year, date.fromordinal(first).month
        end = date.fromordinal(last)
        found: list[int] = []
        while (year, month) <= (end.year, end.month):
            before = date(year, month, 1).toordinal() - 1
            found += [before + day for day in self._month(year, month) if first <= before + day <= last]
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        return found

    def _month(self, year: int, month: int) -> Sequence[int]:
        if self._rule.months and month not in self._rule.months:
            return ()
        kind = (date(year, 1, 1).weekday(), isleap(year), isleap(year - 1), month)
        known = self._months.get(kind)
        if known is None:
            days = range(1, month_length(year, month) + 1)
            known = [day for day in days if day_matches(self._rule, date(year, month, day))]
            self._months[kind] = known
        return known


def _week_of(ordinal: int, week_start: int) -> int:
    """The number of a week since the first one, for weeks that begin on `week_start`."""
    return (ordinal - 1 - week_start) // 7


def period_of(rule: RRule, ordinal: int) -> int:
    """How many periods lie between the start and a day."""
    start = rule.start
    if rule.frequency == "DAILY":
        return ordinal - start.toordinal()
    if rule.frequency == "WEEKLY":
        return _week_of(ordinal, rule.week_start) - _week_of(start.toordinal(), rule.week_start)
    day = date.fromordinal(ordinal)
    if rule.frequency == "MONTHLY":
        return (day.year - start.year) * 12 + day.month - start.month
    return day.year - start.year


def period_bounds(rule: RRule, number: int) -> tuple[int, int] | None:
    """The first and the last day of a period; None past the end of the calendar."""
    start = rule.start
    if rule.frequency == "DAILY":
        first = last = start.toordinal() + number
    elif rule.frequency == "WEEKLY":
        first = (_week_of(start.toordinal(), rule.week_start) + number) * 7 + rule.week_start + 1
        last = first + 6
    else:
        months = number * (12 if rule.frequency == "YEARLY" else 1)
        year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
        if year > LAST_YEAR:
            return None
        if rule.frequency == "YEARLY":
            first, last = date(year, 1, 1).toordinal(), date(year, 12, 31).toordinal()
        else:
            first = date(year, month + 1, 1).toordinal()
            last = first + month_length(year, month + 1) - 1
    return (max(1, first), last) if first <= date(LAST_YEAR, 12, 31).toordinal() else None


def day_matches(rule: RRule, day: date) -> bool:
    """Whether a rule has this day. Parts that the rule leaves out are those of its start."""
    months, month_days = rule.months, rule.month_days
    by_day = rule.by_day
    if not (rule.week_numbers or rule.year_days or month_days or by_day):
        if rule.frequency == "YEARLY":
            months, month_days = months or (rule.start.month,), (rule.start.day,)
        elif rule.frequency == "MONTHLY":
            month_days = (rule.start.day,)
        elif rule.frequency == "WEEKLY":
            by_day = ((0, rule.start.weekday()),)
    if months and day.month not in months:
        return False
    if month_days and not _counted(day.day, month_length(day.year, day.month), month_days):
        return False
    if by_day and not any(_is_nth_weekday(rule, day, nth, weekday) for nth, weekday in by_day):
        return False
    if rule.year_days and not _counted(
        day.timetuple().tm_yday, 366 if isleap(day.year) else 365, rule.year_days
    ):
        return False
    return not rule.week_numbers or _counted(*_week_number(day, rule.week_start), rule.week_numbers)


def _counted(number: int, size: int, wanted: Sequence[int]) -> bool:
    """Whether a number is in `wanted`, whose negative entries count from the end."""
    return number in wanted or number - size - 1 in wanted


def _is_nth_weekday(rule: RRule, day: date, nth: int, weekday: int) -> bool:
    if day.weekday() != weekday:
        return False
    if nth == 0:
        return True
    if rule.frequency == "YEARLY" and not rule.months:
        number, size = day.timetuple().tm_yday, 366 if isleap(day.year) else 365
    else:
        number, size = day.day, month_length(day.year, day.month)
    return nth == (number - 1) // 7 + 1 if nth > 0 else -nth == (size - number) // 7 + 1


@lru_cache(maxsize=4096)
def _first_week(year: int, week_start: int) -> int:
    """The ordinal of the first day of week 1, the first week with at least four days in the year."""
    new_year = date(year, 1, 1)
    into_week = (new_year.weekday() - week_start) % 7
    return new_year.toordinal() - into_week + (7 if into_week > 3 else 0)


def _week_number(day: date, week_start: int) -> tuple[int, int]:
    """The number of a day's week, and how many weeks the year of that week has."""
    ordinal = day.toordinal()
    year = day.year
    if ordinal >= _first_week(year + 1, week_start):
        year += 1
    elif ordinal < _first_week(year, week_start):
        year -= 1
    first, following = _first_week(year, week_start), _first_week(year + 1, week_start)
    return (ordinal - first) // 7 + 1, (following - first) // 7
