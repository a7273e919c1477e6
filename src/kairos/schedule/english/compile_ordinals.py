"""Compile ordinals into day rules; refuse days that some month lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kairos.schedule.english.vocabulary import MONTH_NAMES
from kairos.schedule.plan.normal_form import LONGEST, day_rule

if TYPE_CHECKING:
    from kairos.schedule.english.draft import DayChoice, Ordinal, Scope
    from kairos.schedule.english.token_reader import TokenReader
    from kairos.schedule.plan.recurrence import DayRule

QUARTER_STARTS, QUARTER_ENDS = (1, 4, 7, 10), (3, 6, 9, 12)


def ordinal_rules(
    reader: TokenReader,
    choice: DayChoice,
    months: tuple[int, ...],
    scope: Scope | None,
    lenient: bool = False,
) -> list[DayRule]:
    """Compile “the n-th … of …” into day rules, one for each kind of day that is counted."""
    kind = scope.kind if scope else "month"
    whole_end = {28, 29, 30, 31} <= {item.n for item in choice.ordinals if item.noun == "day"}
    lenient = lenient or bool(scope and scope.lenient)
    rules: list[DayRule] = []
    for item in choice.ordinals:
        within = scope.months if scope and scope.kind in ("months", "concrete") else months
        if kind == "quarter":
            within = _quarter(reader, item, choice)
        elif kind == "year":
            rules.append(_of_year(reader, item, choice))
            continue
        if not (whole_end and item.noun == "day" and item.n <= 31):  # “the 25th to the last”
            _refuse_missing_day(reader, item, within, choice, lenient)
        rules.append(_rule(item, within))
    return _merged(rules)


def _rule(item: Ordinal, months: tuple[int, ...]) -> DayRule:
    if item.noun == "weekday":
        return day_rule(months=months, nth=((item.n, item.weekday),))
    if item.noun == "business":
        return day_rule(months=months, business=(item.n,))
    if item.noun == "nearest":
        return day_rule(months=months, nearest=(item.n,))
    return day_rule(months=months, days=(item.n,))


def _merged(rules: list[DayRule]) -> list[DayRule]:
    """Merge rules for the same months that count the same kind of day."""
    merged: dict[tuple[object, ...], list[DayRule]] = {}
    for rule in rules:
        kind = (
            bool(rule.days),
            bool(rule.nth),
            bool(rule.business),
            bool(rule.nearest),
            bool(rule.year_days),
        )
        merged.setdefault((rule.months, bool(rule.year_nth), *kind), []).append(rule)
    return [
        day_rule(
            months=group[0].months,
            days=[n for rule in group for n in rule.days],
            nth=[n for rule in group for n in rule.nth],
            business=[n for rule in group for n in rule.business],
            nearest=[n for rule in group for n in rule.nearest],
            year_days=[n for rule in group for n in rule.year_days],
            year_nth=[n for rule in group for n in rule.year_nth],
        )
        for group in merged.values()
    ]


def _quarter(reader: TokenReader, item: Ordinal, choice: DayChoice) -> tuple[int, ...]:
    limit = {"day": 28, "weekday": 4, "business": 20, "nearest": 28}[item.noun]
    if abs(item.n) > limit:
        reader.refuse("Within a quarter this counts past its first month: name the months.", choice.first)
    return QUARTER_STARTS if item.n > 0 else QUARTER_ENDS


def _of_year(reader: TokenReader, item: Ordinal, choice: DayChoice) -> DayRule:
    first_month, last_month = (1,), (12,)
    if item.noun == "day":
        if 0 < item.n <= 31:
            return day_rule(months=first_month, days=(item.n,))
        if item.n == -1:
            return day_rule(months=last_month, days=(31,))
        return day_rule(year_days=(item.n,))
    if item.noun == "weekday":
        if abs(item.n) <= 4:
            return day_rule(months=first_month if item.n > 0 else last_month, nth=((item.n, item.weekday),))
        if abs(item.n) <= 52:
            return day_rule(year_nth=((item.n, item.weekday),))
    if item.noun != "business" or abs(item.n) > 20:
        reader.refuse("That is not counted within a year: name the month.", choice.first)
    return day_rule(months=first_month if item.n > 0 else last_month, business=(item.n,))


def _refuse_missing_day(
    reader: TokenReader, item: Ordinal, months: tuple[int, ...], choice: DayChoice, lenient: bool
) -> None:
    shown = f"{abs(item.n)}{_ordinal_suffix(abs(item.n))}"
    limit = {"day": 31, "weekday": 5, "business": 23, "nearest": 31}[item.noun]
    if abs(item.n) > limit:
        reader.refuse(f"A month has no {shown}.", choice)
    if item.noun != "day" or item.n < 29:
        return
    lacking = [month for month in months or range(1, 13) if LONGEST[month - 1] < item.n]
    if lacking and len(lacking) == len(months or range(12)):
        reader.refuse(f"{MONTH_NAMES[lacking[0] - 1]} never has a {shown}.", choice)
    if not lenient and (lacking or 2 in (months or (2,))):
        reader.refuse(
            f"Not every month has a {shown}: leave the others out, or take their last day?",
            choice,
            (
                f"on the {shown} of each month that has one at 09:00",
                "on the last day of each month at 09:00",
            ),
        )


def _ordinal_suffix(number: int) -> str:
    return "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
