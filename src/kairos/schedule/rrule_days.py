"""The days of a recurrence rule."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

from .normal import any_of, day_rule
from .recurrence import WORKWEEK, DayRule

if TYPE_CHECKING:
    from .rrule_text import Rule

WEEKDAYS = {name: number for number, name in enumerate(("MO", "TU", "WE", "TH", "FR", "SA", "SU"))}
BY_DAY = re.compile(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)")


def days_of(rule: Rule, first: date | None, frequency: str = "DAILY") -> tuple[DayRule, ...]:
    """The day rules of BYMONTH, BYMONTHDAY, BYDAY, BYYEARDAY and BYSETPOS."""
    months, days, year_days = rule.numbers("BYMONTH"), rule.numbers("BYMONTHDAY"), rule.numbers("BYYEARDAY")
    weekdays, nth = _by_day(rule, frequency)
    positions = rule.numbers("BYSETPOS")
    if year_days:
        if months or days or weekdays or nth or positions or frequency != "YEARLY":
            rule.refuse("BYYEARDAY stands alone in a yearly rule here.", "BYYEARDAY")
        return any_of([day_rule(year_days=year_days)])
    if positions:
        return any_of([_positioned(rule, months, days, weekdays, nth, positions, frequency)])
    if frequency == "WEEKLY":
        if days or nth:
            rule.refuse("A weekly rule has plain weekdays.", "BYMONTHDAY" if days else "BYDAY")
        if not weekdays and first is None:
            rule.refuse(
                "On which weekday? Add BYDAY.", suggestions=(f"{rule.text.strip().rstrip(';')};BYDAY=MO",)
            )
        return any_of([day_rule(months=months, weekdays=weekdays or ((first.weekday(),) if first else ()))])
    if frequency in ("MONTHLY", "YEARLY") and not (days or weekdays or nth):
        if first is None:
            rule.refuse("On which day? Add BYMONTHDAY or BYDAY.")
        days = (first.day,)
    if frequency == "YEARLY" and not months and days:
        if first is None:
            rule.refuse("In which month? Add BYMONTH.")
        if rule.get("BYMONTHDAY") is None:
            months = (first.month,)
    if nth:
        return any_of([_nth(rule, months, days, weekdays, nth, frequency)])
    return any_of([day_rule(months=months, days=days, weekdays=weekdays)])


def _by_day(rule: Rule, frequency: str) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    value = rule.get("BYDAY")
    if value is None:
        return (), ()
    weekdays: list[int] = []
    nth: list[tuple[int, int]] = []
    for piece in value.split(","):
        found = BY_DAY.fullmatch(piece)
        if found is None or (found[1] and int(found[1]) == 0):
            rule.refuse(f"{piece!r} is not a weekday.", "BYDAY")
        if found[1]:
            nth.append((int(found[1]), WEEKDAYS[found[2]]))
        else:
            weekdays.append(WEEKDAYS[found[2]])
    if nth and (weekdays or frequency not in ("MONTHLY", "YEARLY")):
        rule.refuse("Counted weekdays go with monthly and yearly rules, and not with plain ones.", "BYDAY")
    return tuple(weekdays), tuple(nth)


def _nth(
    rule: Rule,
    months: tuple[int, ...],
    days: tuple[int, ...],
    weekdays: tuple[int, ...],
    nth: tuple[tuple[int, int], ...],
    frequency: str,
) -> DayRule:
    if days or weekdays:
        rule.refuse("Counted weekdays do not mix with other days here.", "BYDAY")
    if frequency == "YEARLY" and not months:
        ends = {number > 0 for number, _ in nth}
        if len(ends) == 1 and all(abs(number) < 5 for number, _ in nth):
            return day_rule(months=(1 if True in ends else 12,), nth=nth)
        return day_rule(year_nth=nth)
    if any(abs(number) > 5 for number, _ in nth):
        rule.refuse("A month has at most five of a weekday.", "BYDAY")
    return day_rule(months=months, nth=nth)


def _positioned(
    rule: Rule,
    months: tuple[int, ...],
    days: tuple[int, ...],
    weekdays: tuple[int, ...],
    nth: tuple[tuple[int, int], ...],
    positions: tuple[int, ...],
    frequency: str,
) -> DayRule:
    """The n-th of the set: understood for one weekday, for Monday to Friday, and for all days."""
    monthly = frequency == "MONTHLY" or (frequency == "YEARLY" and len(months) == 1)
    chosen = tuple(sorted(set(weekdays)))
    many_times = any("," in (rule.get(name) or "") for name in ("BYHOUR", "BYMINUTE", "BYSECOND"))
    known = len(chosen) in (1, 7) or chosen == WORKWEEK
    if not known or not monthly or days or nth or many_times:
        rule.refuse("This use of BYSETPOS is not understood.", "BYSETPOS")
    if len(chosen) == 1:
        return day_rule(months=months, nth=[(position, chosen[0]) for position in positions])
    if chosen == WORKWEEK:
        return day_rule(months=months, business=positions)
    return day_rule(months=months, days=positions)
