"""Find the local days that match a rule, one month at a time, from any day on."""

from __future__ import annotations

from bisect import bisect_left
from calendar import isleap
from datetime import date, timedelta
from typing import TYPE_CHECKING

from kairos.schedule.plan.recurrence import Calendar, DayRule, Step

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

MONTH_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
SEARCH_MONTHS = 1_200  # 29 February on a given weekday is at most 40 years away


def month_length(year: int, month: int) -> int:
    return 29 if month == 2 and isleap(year) else MONTH_LENGTHS[month - 1]


def days_of_month(rule: DayRule, year: int, month: int) -> Sequence[int]:
    """The days of one month that a rule matches, in order."""
    if rule.months and month not in rule.months:
        return ()
    length = month_length(year, month)
    first = date(year, month, 1).weekday()
    pools: list[Sequence[int]] = []
    if rule.days:
        pools.append(_from_either_end(rule.days, range(1, length + 1)))
    if rule.weekdays:
        pools.append([day for day in range(1, length + 1) if (first + day - 1) % 7 in rule.weekdays])
    if rule.nth:
        pools.append([day for nth, weekday in rule.nth for day in _nth(nth, weekday, first, length)])
    if rule.business:
        pools.append(_from_either_end(rule.business, _business_days(first, length)))
    if rule.nearest:
        pools.append([_nearest(min(day, length), first, length) for day in rule.nearest if day <= length])
    if rule.year_days or rule.year_nth:
        pools.append(_by_year(rule, year, month, length))
    if rule.dates:
        pools.append([day.day for day in rule.dates if (day.year, day.month) == (year, month)])
    if rule.span:
        opens, closes = rule.span
        pools.append([day for day in range(1, length + 1) if opens <= date(year, month, day) <= closes])
    if not pools:
        return range(1, length + 1)
    if len(pools) == 1:
        return sorted(set(pools[0])) if len(pools[0]) > 1 else pools[0]
    return sorted(set(pools[0]).intersection(*pools[1:]))


def _from_either_end(ordinals: Sequence[int], pool: Sequence[int]) -> list[int]:
    size = len(pool)
    return [pool[n - 1] if n > 0 else pool[n] for n in ordinals if n and abs(n) <= size]


def _nth(nth: int, weekday: int, first: int, length: int) -> list[int]:
    if nth > 0:
        day = 1 + (weekday - first) % 7 + 7 * (nth - 1)
    else:
        last = (first + length - 1) % 7
        day = length - (last - weekday) % 7 + 7 * (nth + 1)
    return [day] if 1 <= day <= length else []


def _business_days(first: int, length: int) -> list[int]:
    return [day for day in range(1, length + 1) if (first + day - 1) % 7 < 5]


def _nearest(day: int, first: int, length: int) -> int:
    """The Monday-to-Friday day nearest to a day, within its month."""
    weekday = (first + day - 1) % 7
    if weekday == 5:
        return day - 1 if day > 1 else day + 2
    if weekday == 6:
        return day + 1 if day < length else day - 2
    return day


def _by_year(rule: DayRule, year: int, month: int, length: int) -> list[int]:
    found = set(range(1, length + 1))
    first_of_year = date(year, 1, 1)
    size = 366 if isleap(year) else 365
    before = date(year, month, 1).toordinal() - first_of_year.toordinal()
    if rule.year_days:
        chosen = {n if n > 0 else size + 1 + n for n in rule.year_days}
        found &= {n - before for n in chosen}
    if rule.year_nth:
        found &= {
            day - before
            for nth, weekday in rule.year_nth
            for day in _nth(nth, weekday, first_of_year.weekday(), size)
        }
    return sorted(found)


def in_step(step: Step, day: date) -> bool:
    """Whether a day is in one of the days, weeks, months or years that a step selects."""
    if step.unit == "day":
        return (day.toordinal() - step.anchor.toordinal()) % step.every == 0
    if step.unit == "week":
        # Ordinal 1 is a Monday, so this counts weeks that begin on Monday.
        return ((day.toordinal() - 1) // 7 - (step.anchor.toordinal() - 1) // 7) % step.every == 0
    if step.unit == "month":
        months = (day.year - step.anchor.year) * 12 + day.month - step.anchor.month
        return months % step.every == 0
    return (day.year - step.anchor.year) % step.every == 0


class DayFinder:
    """Find the matching days of one calendar rule; months are cached."""

    def __init__(
        self, calendar: Calendar, exceptions: Sequence[DayRule], holidays: Sequence[Container[date]]
    ) -> None:
        self._calendar = calendar
        self._exceptions = exceptions
        self._holidays = holidays
        self._months: dict[tuple[int, int], Sequence[int]] = {}

    def following(self, day: date) -> Iterator[date]:
        """Yield the matching days from `day` on, inclusive; stop after a century without one."""
        year, month, at_least = day.year, day.month, day.day
        empty = 0
        while empty < SEARCH_MONTHS and year < 9_999:
            found = self._month(year, month)
            for index in range(bisect_left(found, at_least), len(found)):
                yield date(year, month, found[index])
            empty = 0 if found else empty + 1
            year, month, at_least = (year, month + 1, 1) if month < 12 else (year + 1, 1, 1)

    def first(self, day: date) -> date | None:
        """The first matching day from `day` on."""
        return next(self.following(day), None)

    def _month(self, year: int, month: int) -> Sequence[int]:
        known = self._months.get((year, month))
        if known is None:
            known = self._months[year, month] = self._compute_days(year, month)
        return known

    def _compute_days(self, year: int, month: int) -> Sequence[int]:
        rules, step = self._calendar.days, self._calendar.step
        found: Sequence[int]
        if not rules:
            found = range(1, month_length(year, month) + 1)
        elif len(rules) == 1:
            found = days_of_month(rules[0], year, month)
        else:
            found = sorted({day for rule in rules for day in days_of_month(rule, year, month)})
        if found and step:
            found = [day for day in found if in_step(step, date(year, month, day))]
        if found and self._exceptions:
            gone = {day for rule in self._exceptions for day in days_of_month(rule, year, month)}
            found = [day for day in found if day not in gone]
        if found and self._holidays:
            found = [day for day in found if not self.is_holiday(date(year, month, day))]
        return found

    def is_holiday(self, day: date) -> bool:
        return any(day in calendar for calendar in self._holidays)


def add_months(day: date, months: int) -> date | None:
    """Return the same day of a later month, or None if that month is too short."""
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    if not 1 <= year <= 9_998 or day.day > month_length(year, month + 1):
        return None
    return date(year, month + 1, day.day)


def monday_of(day: date) -> date:
    return day - timedelta(days=day.weekday())
