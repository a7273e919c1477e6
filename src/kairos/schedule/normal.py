"""Builders that keep values in their one normal form."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .recurrence import DayRule

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date


def from_the_start_first(numbers: Iterable[int]) -> tuple[int, ...]:
    """Sorted without repeats, with what counts from the end after what counts from the start."""
    return tuple(sorted(set(numbers), key=lambda number: (number < 0, number)))


def _pairs(pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(set(pairs), key=lambda pair: (pair[0] < 0, pair)))


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
    """A day rule in normal form: sorted, without repeats, and silent where it would allow everything."""
    all_months, all_days, all_weekdays = tuple(sorted(set(months))), set(days), tuple(sorted(set(weekdays)))
    return DayRule(
        months=() if len(all_months) == 12 else all_months,
        days=() if all_days >= set(range(1, 32)) else from_the_start_first(all_days),
        weekdays=() if len(all_weekdays) == 7 else all_weekdays,
        nth=_pairs(nth),
        business=from_the_start_first(business),
        nearest=tuple(sorted(set(nearest))),
        year_days=from_the_start_first(year_days),
        year_nth=_pairs(year_nth),
        dates=tuple(sorted(set(dates))),
    )


def any_of(rules: Iterable[DayRule]) -> tuple[DayRule, ...]:
    """Day rules of which one must match, in normal form: none of them if one matches every day."""
    kept: list[DayRule] = []
    for rule in rules:
        for index, other in enumerate(kept):
            if replace(rule, months=()) == replace(other, months=()):
                months = set(rule.months) | set(other.months) if rule.months and other.months else ()
                kept[index] = replace(rule, months=() if len(months) == 12 else tuple(sorted(months)))
                break
        else:
            kept.append(rule)
    return () if DayRule() in kept else tuple(kept)
