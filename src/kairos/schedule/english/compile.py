"""Compile the parts of an intent: resolve single instants, make anchors absolute, refuse what never fires."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from kairos.schedule.english.compile_days import compile_calendar, is_recurring
from kairos.schedule.english.compile_once import compile_once
from kairos.schedule.english.compile_times import Piece
from kairos.schedule.plan import intervals
from kairos.schedule.plan.days import DayFinder, add_months
from kairos.schedule.plan.evaluate import bounds, ticks
from kairos.schedule.plan.normal_form import any_of, day_rule, merged
from kairos.schedule.plan.recurrence import (
    Calendar,
    DayRule,
    Grid,
    Interval,
    Recurrence,
    Rule,
    Step,
    Times,
    Unit,
)
from kairos.schedule.timezones import day_seconds, instant_of, load_zone, resolve_local, seconds_of

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from kairos.schedule.english.draft import Draft, Limits
    from kairos.schedule.english.token_reader import TokenReader

MAX_COUNT = 10_000
LENGTHS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800, "fortnight": 1_209_600}


def compile_parts(
    reader: TokenReader,
    parts: list[Draft],
    limits: Limits,
    zone: str,
    calendars: Mapping[str, Container[date]],
) -> Recurrence:
    """Compile all parts and limits into a recurrence."""
    _share_every(parts)
    recurring = [is_recurring(draft) for draft in parts]
    if not any(recurring):
        _refuse_limits_of_instant(reader, limits)
        rules = tuple(rule for draft in parts for rule in compile_once(reader, draft))
        return Recurrence(rules, zone)
    if not all(recurring):
        reader.refuse("One part of this recurs and another does not.", 0, until=len(reader.tokens))
    _check_shared(reader, parts, limits)
    pieces = [compile_calendar(reader, draft, limits, zone) for draft in parts]
    if len(pieces) > 1 and any(piece.every or piece.start for piece in pieces):
        reader.refuse(
            "Parts that count from a start cannot be joined: make two schedules.", 0, until=len(reader.tokens)
        )
    recurrence = _recurrence_of(reader, pieces, limits, zone)
    if limits.rfc5545_gaps:
        if not all(isinstance(p.rule, Calendar) and isinstance(p.rule.times, Times | Grid) for p in pieces):
            reader.refuse("Only a fixed time of day can be skipped.", 0, until=len(reader.tokens))
        recurrence = replace(recurrence, rfc5545_gaps=True)
    recurrence = _with_end(reader, recurrence, limits, calendars)
    limited = recurrence.end is not None or recurrence.exceptions or recurrence.holidays
    certain = not limited and all(_recurs_forever(rule) for rule in recurrence.rules)
    if not certain and next(ticks(recurrence, instant_of(reader.now), calendars), None) is None:
        at = limits.end_at if limits.end is not None else limits.exceptions_at if limits.exceptions else 0
        reader.refuse("This would never fire.", at, ("every day at 09:00",), until=len(reader.tokens))
    return recurrence


def _share_every(parts: list[Draft]) -> None:
    """Let the “every” of the first part apply to later weekdays: “every monday at 9am and friday at 5pm”."""
    first = parts[0]
    if first.every is None or not _only_weekdays(first):
        return
    for draft in parts[1:]:
        single = draft.instant is not None or draft.delay is not None or draft.once
        if draft.times and not single and _only_weekdays(draft):
            draft.recurring = True


def _check_shared(reader: TokenReader, parts: list[Draft], limits: Limits) -> None:
    """Refuse months and counts after the last of several parts: they may be meant for that part or for all."""
    if len(parts) == 1:
        return
    last = parts[-1]
    if last.months and last.months_at > last.time_at and any(not part.months for part in parts[:-1]):
        reader.refuse("Are these months meant for all the days, or only for the last?", last.months_at)
    if limits.count is not None:
        reader.refuse("So many times in all, or of each part?", limits.count_at)


def _only_weekdays(draft: Draft) -> bool:
    return bool(draft.choices) and all(choice.weekdays and choice.date is None for choice in draft.choices)


def _recurs_forever(rule: Rule) -> bool:
    """Whether a rule surely recurs without end; False where only a search for its ticks can tell."""
    return isinstance(rule, Interval) or (
        isinstance(rule, Calendar) and all(map(_matches_each_month, rule.days))
    )


def _matches_each_month(day: DayRule) -> bool:
    """Whether the rule surely matches in each of its months: by weekdays, days up to the 20th, or the 4th friday."""
    rare = day.nearest or day.year_days or day.year_nth or day.dates or day.span
    if rare or bool(day.days) + bool(day.weekdays) + bool(day.nth) + bool(day.business) > 1:
        return False
    counted = [*day.days, *(5 * abs(number) for number, _ in day.nth), *day.business]
    return not counted or any(abs(number) <= 20 for number in counted)


def _refuse_limits_of_instant(reader: TokenReader, limits: Limits) -> None:
    if limits.start is not None:
        reader.refuse("A single instant has no start.", limits.start_at, ("every day at 09:00",))
    if limits.end is not None:
        reader.refuse("A single instant has no end: does it recur?", limits.end_at, ("every day at 09:00",))
    if limits.count is not None or limits.length is not None:
        reader.refuse("How often does it recur?", limits.count_at, ("every day at 09:00 for 3 times",))
    if limits.rfc5545_gaps:
        reader.refuse(
            "A single instant is not skipped.", 0, ("every day at 09:00",), until=len(reader.tokens)
        )
    if limits.exceptions or limits.holidays:
        reader.refuse("A single instant has no exceptions.", limits.exceptions_at, ("every day at 09:00",))


def _recurrence_of(reader: TokenReader, pieces: list[Piece], limits: Limits, zone: str) -> Recurrence:
    start = pieces[0].start or intervals.whole_day(limits.start, zone)
    exceptions, holidays = merged(limits.exceptions), tuple(dict.fromkeys(limits.holidays))
    if DayRule() in exceptions:
        reader.refuse("This would never fire.", limits.exceptions_at)
    if pieces[0].anchored:
        start = None
    rules = [piece.rule for piece in pieces]
    first = pieces[0]
    if first.every is not None and isinstance(first.rule, Calendar):
        rule, start = _with_step(reader, first.rule, first.every, start, zone)
        rules = [rule]
    return Recurrence(tuple(rules), zone, start, None, exceptions, holidays)


def _with_step(
    reader: TokenReader, rule: Calendar, every: tuple[int, str], start: date | datetime | None, zone: str
) -> tuple[Calendar, date | datetime | None]:
    """Return the rule so that only every n-th day, week, month or year counts from its first match, and its start.

    If the step divides the year, the rule names its months instead.
    """
    number, unit = every
    anchor = _first_match(reader, rule, start, zone)
    if unit == "month" and 12 % number == 0:
        if start is None:
            if number == 12:
                reader.refuse(
                    "In which month?", 0, ("every year on 1 January at 09:00",), until=len(reader.tokens)
                )
            anchor = date(anchor.year, 1, 1)
        months = tuple((anchor.month - 1 + n * number) % 12 + 1 for n in range(12 // number))
        named = [_in_months(day, months) for day in rule.days]
        return Calendar(rule.times, any_of(named)), start
    known: dict[str, Unit] = {"day": "day", "week": "week", "month": "month", "year": "year"}
    kept = (
        start
        if isinstance(start, datetime) and start.astimezone(load_zone(zone)).date() == anchor
        else anchor
    )
    return Calendar(rule.times, rule.days, Step(number, known[unit], anchor)), kept


def _in_months(rule: DayRule, months: tuple[int, ...]) -> DayRule:
    return day_rule(
        months=months,
        days=rule.days,
        weekdays=rule.weekdays,
        nth=rule.nth,
        business=rule.business,
        nearest=rule.nearest,
    )


def _first_match(reader: TokenReader, rule: Calendar, start: date | datetime | None, zone: str) -> date:
    """Return the first day that the rule matches, from the start on or from now on."""
    info = load_zone(zone)
    probe = Recurrence((rule,), zone, start)
    # Without a stated start, count from the first match after now; with one, `now` must not change the result.
    since = reader.now if start is None else bounds(probe, info)[0] - 1
    first = next(ticks(probe, instant_of(since)), None)
    if first is None:
        reader.refuse("This would never fire.", 0, until=len(reader.tokens))
    day = first.astimezone(info).date()
    # The tick of a skipped day falls on the next day: use the day it belongs to.
    found = DayFinder(rule, (), ()).first(day - timedelta(days=1)) if start is None else day
    if found is not None and found != day and resolve_local(info, day_seconds(found.toordinal())).gap:
        return found
    return day


def _with_end(
    reader: TokenReader, recurrence: Recurrence, limits: Limits, calendars: Mapping[str, Container[date]]
) -> Recurrence:
    end: date | datetime | None = limits.end
    if end is not None and (limits.count is not None or limits.length is not None):
        reader.refuse("The end is said twice.", limits.count_at)
    if limits.count is not None:
        end = _nth_tick(reader, recurrence, limits, calendars)
    elif limits.length is not None:
        end = _end_of_length(reader, recurrence, limits)
    return replace(recurrence, end=end)


def _nth_tick(
    reader: TokenReader, recurrence: Recurrence, limits: Limits, calendars: Mapping[str, Container[date]]
) -> datetime:
    count = limits.count or 0
    if count > MAX_COUNT:
        reader.refuse(f"At most {MAX_COUNT} times.", limits.count_at)
    counted = deque(islice(ticks(recurrence, instant_of(reader.now), calendars), count), maxlen=1)
    if not counted:
        reader.refuse("This would never fire.", 0, until=len(reader.tokens))
    return counted[0]


def _end_of_length(reader: TokenReader, recurrence: Recurrence, limits: Limits) -> date | datetime:
    count, unit = limits.length or (0, "day")
    start = recurrence.start if limits.start is not None else None
    months = {"month": 1, "quarter": 3, "year": 12}.get(unit, 0) * count
    if count < 1:
        reader.refuse("It would never run.", limits.count_at)
    if start is not None and not isinstance(start, datetime):
        if months:
            later = add_months(start, months)
            if later is None:
                reader.refuse("That many months later there is no such day.", limits.count_at)
            return later - timedelta(days=1)
        if LENGTHS[unit] % 86_400 == 0:
            return start + timedelta(seconds=LENGTHS[unit] * count, days=-1)
        start = instant_of(resolve_local(reader.zone, day_seconds(start.toordinal())).at)
    since = seconds_of(start) if isinstance(start, datetime) else reader.now
    if not months:
        return instant_of(since + LENGTHS[unit] * count)
    later = add_months(reader.today, months)
    if later is None or start is not None:
        reader.refuse("That many months later there is no such day: give the date.", limits.count_at)
    return instant_of(resolve_local(reader.zone, day_seconds(later.toordinal()) + reader.time_of_day).at)
