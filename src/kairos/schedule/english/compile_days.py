"""Compile the days of a recurring part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kairos.schedule.english.compile_ordinals import ordinal_rules
from kairos.schedule.english.compile_times import Piece, cadenced, times_of
from kairos.schedule.english.draft import Scope
from kairos.schedule.english.refusals import refuse_rate, refuse_scopeless
from kairos.schedule.english.vocabulary import MONTH_NAMES, MONTHS, WEEKDAY_NAMES
from kairos.schedule.plan.normal_form import any_of, day_rule
from kairos.schedule.plan.recurrence import WORKWEEK, Calendar

if TYPE_CHECKING:
    from kairos.schedule.english.draft import DayChoice, Draft, Limits
    from kairos.schedule.english.token_reader import TokenReader
    from kairos.schedule.plan.recurrence import DayRule


def is_recurring(draft: Draft) -> bool:
    """Whether a part recurs; otherwise it is a single instant."""
    scopes = [choice.scope for choice in draft.choices if choice.scope is not None]
    scoped = any(
        scope.kind == "month" or (scope.kind not in ("months", "concrete") and scope.each) for scope in scopes
    )
    return draft.recurring or scoped or any(choice.plural for choice in draft.choices)


def compile_calendar(reader: TokenReader, draft: Draft, limits: Limits, zone: str) -> Piece:
    """Compile a recurring part into a rule of days and times."""
    if draft.delay is not None or draft.instant is not None or draft.once:
        reader.refuse("Once, or again and again?", draft.delay_at, ("every day at 09:00", "in 20 minutes"))
    days, every = _days(reader, draft)
    _check_rate(reader, draft)
    _check_midnight(reader, draft)
    if draft.cadence is not None and not (draft.cadence == 3600 and draft.minutes is not None):
        return cadenced(reader, draft, limits, zone, days, every)
    return Piece(Calendar(times_of(reader, draft), days), every)


def _days(reader: TokenReader, draft: Draft) -> tuple[tuple[DayRule, ...], tuple[int, str] | None]:
    number, unit = draft.period or (1, "")
    unit, scope = ("month", Scope("quarter")) if unit == "quarter" else (unit, None)
    if scope is not None and number > 1:
        reader.refuse("Name the months instead of counting quarters.", draft.every or 0)
    steps = {p.scope.every for p in draft.choices if p.scope is not None and p.scope.kind == "step"}
    if steps:
        if len(steps) > 1 or draft.period is not None:
            reader.refuse("How often is said twice.", draft.choices[0].first)
        number, unit = steps.pop(), "month"
    if number > 1:
        _check_one_interval(reader, draft)
    shared = next((choice.scope for choice in reversed(draft.choices) if choice.scope is not None), scope)
    narrowed = [choice for choice in draft.choices if choice.months]
    if draft.loosely and narrowed and len(narrowed) < len(draft.choices):
        reader.refuse("Are these months meant for all the days, or only for the last?", narrowed[-1].first)
    if _another_every(draft) and _months_follow_last_days(draft):
        reader.refuse(
            "Are these months meant for all the days, or only for the last?", draft.choices[-1].first
        )
    rules: list[DayRule] = []
    for choice in draft.choices:
        rules.extend(_rules(reader, draft, choice, unit, shared))
    _check_period(reader, draft, unit, number)
    if not rules and draft.months:
        if draft.cadence is None and unit not in ("", "day"):
            reader.refuse("On which day of the month?", draft.months_at)
        if not draft.cadence and unit == "" and draft.every is not None:
            name = MONTH_NAMES[draft.months[0] - 1]
            reader.refuse(
                "On which day of the month?", draft.months_at, (f"every {name} on the 1st at 09:00",)
            )
        rules.append(day_rule(months=draft.months))
    return any_of(rules), (number, unit) if number > 1 else None


def _rules(
    reader: TokenReader, draft: Draft, choice: DayChoice, unit: str, shared: Scope | None
) -> list[DayRule]:
    if choice.date is not None:
        reader.refuse("A date with its year comes only once.", choice)
    if choice.month is not None:
        return _annual(reader, draft, choice, unit)
    if choice.weekdays:
        return [_weekdays(reader, draft, choice, unit)]
    numbers = sorted(item.n for item in choice.ordinals)
    if unit == "day" and (len(numbers) < 2 or numbers != list(range(numbers[0], numbers[-1] + 1))):
        reader.refuse("Every day, or only on those days of the month?", choice)
    own = choice.scope or shared
    if own is not None and own.kind == "concrete":
        reader.refuse("That month comes only once.", choice)
    every_month = unit == "month" or (own is not None and (own.kind != "month" or own.each))
    if draft.months and every_month:
        reader.refuse("Every month, or only the months named?", draft.months_at)
    if own is None and (unit in ("week", "year") or (unit not in ("month", "day") and not draft.months)):
        refuse_scopeless(reader, choice, "of what: the month, the year?")
    if own is not None and own.kind == "months" and unit == "month":
        reader.refuse("Every month, or only the months named?", choice.first)
    return ordinal_rules(reader, choice, draft.months, own)


def _annual(reader: TokenReader, draft: Draft, choice: DayChoice, unit: str) -> list[DayRule]:
    if unit not in ("", "year") and draft.cadence is None:
        reader.refuse("A date comes once a year.", choice)
    if draft.months:
        reader.refuse("The months are said twice.", draft.months_at)
    assert choice.month is not None
    if choice.month == 2 and 29 in choice.days and unit == "year":
        reader.refuse(
            "29 February comes only in leap years: leave the others out, or take the last day?",
            choice,
            (
                "every year on the 29th of February that has one at 09:00",
                "on the last day of February at 09:00 every year",
            ),
        )
    return [day_rule(months=(choice.month,), days=choice.days)]


def _weekdays(reader: TokenReader, draft: Draft, choice: DayChoice, unit: str) -> DayRule:
    if unit in ("month", "year") and not choice.ordinals:
        name = WEEKDAY_NAMES[choice.weekdays[0]]
        reader.refuse(
            f"One {name} a {unit}, or every {name}?",
            choice,
            (f"on the first {name} of each month at 09:00", f"every {name} at 09:00"),
        )
    if unit == "day" and choice.weekdays != WORKWEEK and not _are_consecutive(choice):
        reader.refuse("Every day, or only on that weekday?", choice)
    if choice.months and draft.months:
        reader.refuse("The months are said twice.", draft.months_at)
    within = choice.months or draft.months
    return day_rule(months=within, weekdays=choice.weekdays, days=[item.n for item in choice.ordinals])


def _are_consecutive(choice: DayChoice) -> bool:
    """Whether these are three or more consecutive weekdays, as in “every day, Monday to Saturday”."""
    chosen = set(choice.weekdays)
    return len(chosen) > 2 and sum((day + 1) % 7 not in chosen for day in chosen) == 1


def _check_midnight(reader: TokenReader, draft: Draft) -> None:
    """Refuse “every friday at midnight”, which may be the night before Friday or the night after it."""
    time = next((each for each in draft.times if each.midnight_word), None)
    if time is None:
        return
    named = {day for choice in draft.choices for day in choice.weekdays}
    if len(named) in (0, 7) and not any(_has_two_midnights(reader, choice) for choice in draft.choices):
        return
    begins = reader.rewritten(time.first, time.last + 1, "00:00")[0]
    ends = [WEEKDAY_NAMES[(day + 1) % 7] for day in sorted(named)]
    reader.refuse(
        "The midnight that begins that day, or the one that ends it? Write 00:00 and the day.",
        time,
        (begins, f"every {' and '.join(ends)} at 00:00") if ends else (begins,),
    )


def _has_two_midnights(reader: TokenReader, choice: DayChoice) -> bool:
    """Whether people may mean the end of the day: a counted weekday, the last day of a month or year, a feast day.

    The midnight of a numbered day, and of New Year's Day, is the one that begins it.
    """
    if any(item.noun == "weekday" or (item.noun == "day" and item.n == -1) for item in choice.ordinals):
        return True
    if choice.month is None:
        return False
    first = reader.tokens[choice.first]
    feast = first.kind == "word" and first.text not in MONTHS and first.text != "the"
    return (choice.month, *choice.days) == (12, 31) or (feast and (choice.month, *choice.days) != (1, 1))


def _check_rate(reader: TokenReader, draft: Draft) -> None:
    """Refuse a rate that disagrees with what is named: “twice a day” needs two times, “twice a week” two days."""
    if draft.rate is None:
        return
    count, unit, first, until = draft.rate
    named = len(draft.times)
    if unit != "day":
        named *= sum(len(choice.ordinals or choice.weekdays or choice.days) for choice in draft.choices)
    if not named and count > 1:
        refuse_rate(reader, first, until)
    if named not in (0, count):
        reader.refuse(f"This names {named} a {unit}, not {count}.", first, until=until)


def _another_every(draft: Draft) -> int | None:
    """The token index of a second “every”, as in “every monday and every other tuesday”; None if there is none.

    It may apply to the days after it only.
    """
    if len(draft.choices) < 2:
        return None
    first, last = draft.choices[0].last, draft.choices[-1].last
    return next((at for at in draft.everies if first < at < last), None)


def _months_follow_last_days(draft: Draft) -> bool:
    """Whether months follow only the last days, as in “every 15th and every 1st in january”."""
    last = draft.choices[-1]
    if draft.months:
        return draft.months_at > last.last
    bare = any(choice.scope == Scope("month", each=False) for choice in draft.choices[:-1])
    return bare and last.scope is not None and last.scope.kind == "months"


def _check_one_interval(reader: TokenReader, draft: Draft) -> None:
    """Refuse days with different intervals in one part, as in “every monday and every other tuesday”."""
    at = _another_every(draft)
    several = len(draft.choices) > 1 or any(len(choice.weekdays) > 1 for choice in draft.choices)
    if at is None and several and len(draft.everies) > 1:
        at = draft.everies[1]
    if at is None and len({choice.scope for choice in draft.choices if choice.scope is not None}) > 1:
        at = draft.choices[-1].first
    if at is not None:
        two = ("every monday at 09:00", "every 2 weeks on tuesday at 09:00")
        reader.refuse("How often is said of some of the days only: make two schedules.", at, two)


def _check_period(reader: TokenReader, draft: Draft, unit: str, number: int) -> None:
    at = draft.every or 0
    if draft.cadence is not None and number == 1 and (unit in ("", "day") or draft.choices):
        return
    if draft.cadence is not None:
        reader.refuse("How often is said twice.", at, until=len(reader.tokens))
    if unit == "day" and number > 1 and (draft.choices or draft.months):
        reader.refuse("Counting days does not go with naming them.", at)
    if unit == "day" and number > 1 and at > 0 and reader.tokens[at - 1].text == ",":
        # Generators that describe cron expressions write this for steps that restart on the 1st of each month.
        reader.refuse(
            f"Every {number} days counting on and on, or from the 1st of each month? Say from when.",
            at,
            (f"every {number} days at 09:00 from {reader.in_days(1).isoformat()}",),
        )
    if unit == "week":
        if not any(choice.weekdays for choice in draft.choices):
            reader.refuse("On which day of the week?", at, _with_day(reader, "on monday"))
        days = {day for choice in draft.choices for day in choice.weekdays}
        if number > 1 and 6 in days and len(days) > 1 and days != {5, 6}:
            reader.refuse(
                "With a Sunday among the days it matters whether weeks begin on Sunday or Monday.",
                draft.choices[0].first,
            )
    if unit == "month" and not draft.choices:
        reader.refuse("On which day of the month?", at, _with_day(reader, "on the 1st"))
    if unit == "year" and not draft.choices:
        reader.refuse("On which day of the year?", at, _with_day(reader, "on 1 January"))
    if unit == "year" and any(p.scope is None and p.month is None for p in draft.choices):
        reader.refuse(
            "On which day of the year?", draft.choices[0].first, ("every year on 1 January at 09:00",)
        )


def _with_day(reader: TokenReader, words: str) -> tuple[str, ...]:
    return (f"{reader.text} {words}", f"{reader.text} {words} at 09:00")
