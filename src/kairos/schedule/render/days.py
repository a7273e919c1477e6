"""Render days in words that the English grammar parses back to the same value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kairos.schedule.english.vocabulary import MONTH_NAMES, WEEKDAY_NAMES
from kairos.schedule.plan.normal_form import LONGEST
from kairos.schedule.plan.recurrence import WORKWEEK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kairos.schedule.plan.recurrence import DayRule, Step


def listed(words: Sequence[str]) -> str:
    """“a, b and c”."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def ordinal(number: int) -> str:
    """“3rd”, “last”, “2nd to last”, “40th last”."""
    size = abs(number)
    suffix = "th" if 10 < size % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(size % 10, "th")
    if number > 0:
        return f"{size}{suffix}"
    if number == -1:
        return "last"
    return f"{size}{suffix} to last" if size < 5 else f"{size}{suffix} last"


def runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Group consecutive numbers."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1 and number > 0:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def months(numbers: Sequence[int]) -> str:
    return listed([MONTH_NAMES[number - 1] for number in numbers])


def weekdays(numbers: Sequence[int], plural: bool) -> str:
    """“weekday”, “mondays and fridays”."""
    ending = "s" if plural else ""
    if tuple(numbers) == WORKWEEK:
        return f"weekday{ending}"
    return listed([f"{WEEKDAY_NAMES[number]}{ending}" for number in numbers])


def month_days(days: Sequence[int]) -> str:
    """“1st, 15th and last”, “25th to 31st”."""
    words: list[str] = []
    for first, last in runs(days):
        if last - first > 1:
            words.append(f"{ordinal(first)} to {ordinal(last)}")
        else:
            words.extend(ordinal(number) for number in range(first, last + 1))
    return listed(words)


def some_lack(days: Sequence[int], within: Sequence[int]) -> bool:
    """Whether some of the months lack one of the days, at least in some years."""
    if {28, 29, 30, 31} <= set(days):
        return False
    named = within or range(1, 13)
    return any(day > 28 and any(LONGEST[month - 1] < day or month == 2 for month in named) for day in days)


def rule_text(rule: DayRule, tail: bool = False, scoped: bool = True) -> str:
    """Render a day rule: alone, after an interval of time (`tail`), or after “every n months” (not `scoped`)."""
    named = months(rule.months) if rule.months else ""
    inside = f" in {named}" if named else ""
    if rule.weekdays:
        falling = f" falling on the {month_days(rule.days)}" if rule.days else ""
        lead = (
            f"on {weekdays(rule.weekdays, plural=scoped)}"
            if tail
            else f"every {weekdays(rule.weekdays, False)}"
        )
        return f"{lead}{falling}{inside}"
    what = ordinals_text(rule)
    if what is None:
        return inside.strip() if tail else f"every day{inside}"
    if rule.year_days or rule.year_nth:
        return f"on {what} of each year"
    lacking = some_lack(rule.days, rule.months) or some_lack(rule.nearest, rule.months)
    if not scoped and not named:
        return f"on {what} of the month that has one" if lacking else f"on {what}"
    return f"on {what} of {named or 'each month'}{' that has one' if lacking else ''}"


def ordinals_text(rule: DayRule) -> str | None:
    """Render ordinals: “the 1st and 15th”, “the last friday”."""
    if rule.days:
        return f"the {month_days(rule.days)}{' day' if rule.days[-1] < 0 else ''}"
    if rule.nth or rule.year_nth:
        pairs = rule.nth or rule.year_nth
        return listed([f"the {ordinal(nth)} {WEEKDAY_NAMES[weekday]}" for nth, weekday in pairs])
    if rule.business:
        return f"the {listed([ordinal(number) for number in rule.business])} business day (Monday to Friday)"
    if rule.nearest:
        return f"the weekday nearest the {month_days(rule.nearest)}"
    if rule.year_days:
        return f"the {listed([ordinal(number) for number in rule.year_days])} day"
    return None


def days_text(rules: Sequence[DayRule], step: Step | None, tail: bool) -> str:
    """The days of a calendar rule."""
    if step is not None:
        return _stepped(rules, step)
    if not rules:
        return "" if tail else "every day"
    text = " and also ".join(rule_text(rule, tail) for rule in rules)
    names_a_unit = any(word in text for word in ("every", "each"))
    return text if names_a_unit or tail else f"every year {text}"


def _stepped(rules: Sequence[DayRule], step: Step) -> str:
    unit = f"every {step.every} {step.unit}s"
    if not rules:
        return unit
    joined = " and also ".join(
        f"on {weekdays(rule.weekdays, False)}{f' in {months(rule.months)}' if rule.months else ''}"
        if rule.weekdays and not rule.days
        else rule_text(rule, tail=True, scoped=False)
        for rule in rules
    )
    return f"{unit} {joined}"


def exception_text(rule: DayRule) -> str:
    """Render one exception, which follows “except”."""
    if rule.span:
        return f"from {rule.span[0].isoformat()} to {rule.span[1].isoformat()}"
    if rule.dates:
        return f"on {rule.dates[0].isoformat()}"
    if rule.weekdays and not rule.days:
        return f"on {weekdays(rule.weekdays, plural=True)}"
    return rule_text(rule, tail=True)
