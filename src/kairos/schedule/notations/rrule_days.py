"""Convert the days of an RFC 5545 rule to day rules of a plan, where that is possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kairos.schedule.plan.normal_form import any_of, day_rule
from kairos.schedule.plan.recurrence import WORKWEEK, DayRule

if TYPE_CHECKING:
    from datetime import date

    from kairos.schedule.plan.recurrence import RRule


class NotExpressible(Exception):
    """Plans cannot express this rule otherwise, so it is stored as a rule."""


def days_of(rule: RRule, first: date | None) -> tuple[DayRule, ...]:
    """The day rules of BYMONTH, BYMONTHDAY, BYDAY, BYYEARDAY and BYSETPOS; `first` is the day of DTSTART."""
    weekdays = tuple(weekday for nth, weekday in rule.by_day if not nth)
    nth = tuple(pair for pair in rule.by_day if pair[0])
    months, days = rule.months, rule.month_days
    if rule.week_numbers or (nth and weekdays):
        raise NotExpressible
    if rule.year_days:
        if months or days or rule.by_day or rule.positions or rule.frequency != "YEARLY":
            raise NotExpressible
        return any_of([day_rule(year_days=rule.year_days)])
    if rule.positions:
        return any_of([_positioned(rule, weekdays, nth)])
    if rule.frequency == "WEEKLY":
        return any_of([day_rule(months=months, weekdays=weekdays or ((first.weekday(),) if first else ()))])
    if rule.frequency in ("MONTHLY", "YEARLY") and not (days or weekdays or nth) and first is not None:
        days = (first.day,)
        if rule.frequency == "YEARLY":
            months = months or (first.month,)
    if nth:
        return any_of([_nth(rule, months, days, nth)])
    return any_of([day_rule(months=months, days=days, weekdays=weekdays)])


def _nth(
    rule: RRule, months: tuple[int, ...], days: tuple[int, ...], nth: tuple[tuple[int, int], ...]
) -> DayRule:
    if days:
        raise NotExpressible
    if rule.frequency == "YEARLY" and not months:
        ends = {number > 0 for number, _ in nth}
        if len(ends) == 1 and all(abs(number) < 5 for number, _ in nth):
            return day_rule(months=(1 if True in ends else 12,), nth=nth)
        return day_rule(year_nth=nth)
    return day_rule(months=months, nth=nth)


def _positioned(rule: RRule, weekdays: tuple[int, ...], nth: tuple[tuple[int, int], ...]) -> DayRule:
    """BYSETPOS over one weekday, over Monday to Friday, or over all days."""
    monthly = rule.frequency == "MONTHLY" or (rule.frequency == "YEARLY" and len(rule.months) == 1)
    many_times = any(len(times) > 1 for times in (rule.hours, rule.minutes, rule.seconds))
    known = len(weekdays) in (1, 7) or weekdays == WORKWEEK
    if not known or not monthly or rule.month_days or nth or many_times:
        raise NotExpressible
    longest = 5 if len(weekdays) == 1 else 20 if weekdays == WORKWEEK else 31
    if any(abs(position) > longest for position in rule.positions):
        raise NotExpressible
    if len(weekdays) == 1:
        return day_rule(months=rule.months, nth=[(position, weekdays[0]) for position in rule.positions])
    if weekdays == WORKWEEK:
        return day_rule(months=rule.months, business=rule.positions)
    return day_rule(months=rule.months, days=rule.positions)
