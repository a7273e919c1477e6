"""Build day rules in normal form, so that equal meanings compare equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kairos.schedule.plan.recurrence import DayRule

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date


LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
LISTS = ("months", "days", "weekdays", "nth", "business", "nearest", "year_days", "year_nth")


def sort_ordinals(numbers: Iterable[int]) -> tuple[int, ...]:
    """Sort without repeats; negative numbers, which count from the end, come last."""
    if not numbers:
        return ()
    return tuple(sorted(set(numbers), key=lambda number: (number < 0, number)))


def _pairs(pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(set(pairs), key=lambda pair: (pair[0] < 0, pair))) if pairs else ()


def day_rule(
    *,
    months: Iterable[int] = (),
    days: Iterable[int] = (),
    weekdays: Iterable[int] = (),
    nth: Iterable[tuple[int, int]] = (),
    business: Iterable[int] = (),
    nearest: Iterable[int] = (),
    year_days: Iterable[int] = (),
    year_nth: Iterable[tuple[int, int]] = (),
    dates: Iterable[date] = (),
) -> DayRule:
    """Build a day rule in normal form: sorted, without repeats, a field that allows every value left empty."""
    all_months, all_weekdays = tuple(sorted(set(months))), tuple(sorted(set(weekdays)))
    all_days = sort_ordinals(days)
    if all_days and all_days[0] > 0:
        longest = max((LONGEST[month - 1] for month in all_months), default=31)
        # Drop days that these months never have, unless no other day remains.
        all_days = tuple(day for day in all_days if day <= longest) or all_days
        if all_days[:longest] == tuple(range(1, longest + 1)):
            all_days = ()
    return DayRule(
        months=() if len(all_months) == 12 else all_months,
        days=all_days,
        weekdays=() if len(all_weekdays) == 7 else all_weekdays,
        nth=_pairs(nth),
        business=sort_ordinals(business),
        nearest=sort_ordinals(nearest),
        year_days=sort_ordinals(year_days),
        year_nth=_pairs(year_nth),
        dates=tuple(sorted(set(dates))) if dates else (),
    )


def any_of(rules: Iterable[DayRule]) -> tuple[DayRule, ...]:
    """Normalise alternatives; return none, which means every day, if one of them matches every day."""
    kept = merged(rules)
    return () if DayRule() in kept else kept


def merged(rules: Iterable[DayRule]) -> tuple[DayRule, ...]:
    """Merge rules that differ in one list."""
    kept: list[DayRule] = []
    for rule in rules:
        joined = rule
        while True:
            other = next((each for each in kept if _joined(each, joined) is not None), None)
            if other is None:
                break
            kept.remove(other)
            joined = _joined(other, joined) or joined
        kept.append(joined)
    return tuple(kept)


def _joined(one: DayRule, other: DayRule) -> DayRule | None:
    if one == other:
        return one
    if one.dates or other.dates or one.span or other.span:
        return None
    lists = {name: (getattr(one, name), getattr(other, name)) for name in LISTS}
    differing = [name for name, (first, second) in lists.items() if first != second]
    if len(differing) != 1 or not all(lists[differing[0]]):
        return None
    return day_rule(**{name: (*first, *second) for name, (first, second) in lists.items()})
