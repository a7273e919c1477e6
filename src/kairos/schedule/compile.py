"""What was read into a schedule: one-offs resolved, anchors made absolute, what never fires refused."""

from __future__ import annotations

from collections import deque
from datetime import date, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from . import interval
from .compile_calendar import compile_calendar, is_recurring
from .compile_once import compile_once
from .compile_times import Piece
from .days import DayFinder, add_months
from .evaluate import bounds, ticks
from .normal import any_of, day_rule, merged
from .recurrence import Calendar, DayRule, Interval, Once, Schedule, Step, Unit
from .zones import day_seconds, instant_of, load, place, seconds_of

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from .draft import Draft, Limits
    from .reader import Reader

MAX_COUNT = 10_000
LENGTHS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800, "fortnight": 1_209_600}


def compile_parts(
    reader: Reader, parts: list[Draft], limits: Limits, zone: str, calendars: Mapping[str, Container[date]]
) -> Schedule:
    """The schedule of everything that was read."""
    recurring = [is_recurring(draft) for draft in parts]
    if not any(recurring):
        _refuse_limits(reader, limits)
        rules = tuple(rule for draft in parts for rule in compile_once(reader, draft))
        return Schedule(rules, zone)
    if not all(recurring):
        reader.refuse("One part of this recurs and another does not.", 0, until=len(reader.tokens))
    pieces = [compile_calendar(reader, draft, limits, zone) for draft in parts]
    if len(pieces) > 1 and any(piece.every or piece.start for piece in pieces):
        reader.refuse(
            "Parts that count from a start cannot be joined: make two schedules.", 0, until=len(reader.tokens)
        )
    schedule = _scheduled(reader, pieces, limits, zone)
    schedule = _ended(reader, schedule, limits, calendars)
    limited = schedule.end is not None or schedule.exceptions or schedule.holidays
    certain = not limited and all(_surely_comes(rule) for rule in schedule.rules)
    if not certain and next(ticks(schedule, instant_of(reader.now), calendars), None) is None:
        at = limits.end_at if limits.end is not None else limits.exceptions_at if limits.exceptions else 0
        reader.refuse("This would never fire.", at, ("every day at 09:00",), until=len(reader.tokens))
    return schedule


def _surely_comes(rule: Once | Interval | Calendar) -> bool:
    """Whether it needs no search to know that a rule goes on."""
    return isinstance(rule, Interval) or (isinstance(rule, Calendar) and all(map(_in_any_month, rule.days)))


def _in_any_month(day: DayRule) -> bool:
    """Whether every month has such a day: true of weekdays, of the 28th, of the fourth friday."""
    rare = day.nearest or day.year_days or day.year_nth or day.dates or day.span
    if rare or bool(day.days) + bool(day.weekdays) + bool(day.nth) + bool(day.business) > 1:
        return False
    counted = [*day.days, *(5 * abs(number) for number, _ in day.nth), *day.business]
    return not counted or any(abs(number) <= 20 for number in counted)


def _refuse_limits(reader: Reader, limits: Limits) -> None:
    if limits.start is not None:
        reader.refuse("A single instant has no start.", limits.start_at, ("every day at 09:00",))
    if limits.end is not None:
        reader.refuse("A single instant has no end: does it recur?", limits.end_at, ("every day at 09:00",))
    if limits.count is not None or limits.length is not None:
        reader.refuse("How often does it recur?", limits.count_at, ("every day at 09:00 for 3 times",))
    if limits.exceptions or limits.holidays:
        reader.refuse("A single instant has no exceptions.", limits.exceptions_at, ("every day at 09:00",))


def _scheduled(reader: Reader, pieces: list[Piece], limits: Limits, zone: str) -> Schedule:
    start = pieces[0].start or interval.whole_day(limits.start, zone)
    exceptions, holidays = merged(limits.exceptions), tuple(dict.fromkeys(limits.holidays))
    if DayRule() in exceptions:
        reader.refuse("This would never fire.", limits.exceptions_at)
    if pieces[0].anchored:
        start = None
    rules = [piece.rule for piece in pieces]
    first = pieces[0]
    if first.every is not None and isinstance(first.rule, Calendar):
        rule, start = _stepped(reader, first.rule, first.every, start, zone)
        rules = [rule]
    return Schedule(tuple(rules), zone, start, None, exceptions, holidays)


def _stepped(
    reader: Reader, rule: Calendar, every: tuple[int, str], start: date | datetime | None, zone: str
) -> tuple[Calendar, date | datetime | None]:
    """Count every n-th from the first match; months that come round each year are simply named."""
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
    kept = start if isinstance(start, datetime) and start.astimezone(load(zone)).date() == anchor else anchor
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


def _first_match(reader: Reader, rule: Calendar, start: date | datetime | None, zone: str) -> date:
    info = load(zone)
    probe = Schedule((rule,), zone, start)
    # A stated start decides alone, so that the sentence means the same whenever it is read.
    since = reader.now if start is None else bounds(probe, info)[0] - 1
    first = next(ticks(probe, instant_of(since)), None)
    if first is None:
        reader.refuse("This would never fire.", 0, until=len(reader.tokens))
    day = first.astimezone(info).date()
    # The tick of a skipped day lands on the next: take the day it was meant for.
    found = DayFinder(rule, (), ()).first(day - timedelta(days=1)) if start is None else day
    if found is not None and found != day and place(info, day_seconds(found.toordinal())).gap:
        return found
    return day


def _ended(
    reader: Reader, schedule: Schedule, limits: Limits, calendars: Mapping[str, Container[date]]
) -> Schedule:
    end: date | datetime | None = limits.end
    if end is not None and (limits.count is not None or limits.length is not None):
        reader.refuse("The end is said twice.", limits.count_at)
    if limits.count is not None:
        end = _nth_tick(reader, schedule, limits, calendars)
    elif limits.length is not None:
        end = _end_of_length(reader, schedule, limits)
    return Schedule(
        schedule.rules, schedule.zone, schedule.start, end, schedule.exceptions, schedule.holidays
    )


def _nth_tick(
    reader: Reader, schedule: Schedule, limits: Limits, calendars: Mapping[str, Container[date]]
) -> datetime:
    count = limits.count or 0
    if count > MAX_COUNT:
        reader.refuse(f"At most {MAX_COUNT} times.", limits.count_at)
    counted = deque(islice(ticks(schedule, instant_of(reader.now), calendars), count), maxlen=1)
    if not counted:
        reader.refuse("This would never fire.", 0, until=len(reader.tokens))
    return counted[0]


def _end_of_length(reader: Reader, schedule: Schedule, limits: Limits) -> date | datetime:
    count, unit = limits.length or (0, "day")
    start = schedule.start if limits.start is not None else None
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
        start = instant_of(place(reader.zone, day_seconds(start.toordinal())).at)
    since = seconds_of(start) if isinstance(start, datetime) else reader.now
    if not months:
        return instant_of(since + LENGTHS[unit] * count)
    later = add_months(reader.today, months)
    if later is None or start is not None:
        reader.refuse("That many months later there is no such day: give the date.", limits.count_at)
    return instant_of(place(reader.zone, day_seconds(later.toordinal()) + reader.time_of_day).at)
