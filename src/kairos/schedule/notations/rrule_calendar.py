"""Express an RFC 5545 rule as a calendar or an interval, so that an ordinary sentence says it."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from datetime import date, datetime
from itertools import islice
from typing import TYPE_CHECKING

from kairos.schedule.notations.rrule_days import NotExpressible, days_of
from kairos.schedule.plan import intervals
from kairos.schedule.plan.evaluate import EARLIEST, clock_times, ticks
from kairos.schedule.plan.normal_form import any_of, day_rule
from kairos.schedule.plan.recurrence import (
    DAY_SECONDS,
    Calendar,
    DayRule,
    Grid,
    Recurrence,
    RRule,
    Step,
    Times,
    Unit,
    clock,
)
from kairos.schedule.plan.rfc5545 import UNIT_SECONDS, local_start
from kairos.schedule.timezones import (
    EPOCH_ORDINAL,
    day_seconds,
    gaps_of_day,
    instant_of,
    load_zone,
    resolve_local,
    resolve_local_rfc5545,
    seconds_of,
    to_local,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

UNITS: dict[str, Unit] = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
LONG_AGO = instant_of(EARLIEST)


def to_recurrence(rule: RRule, zone: str, now: int, *, started: bool) -> Recurrence:
    """Convert a rule, without its EXDATEs, to a calendar or an interval; `started`: the rule has a DTSTART."""
    if rule.frequency in UNIT_SECONDS:
        recurrence = _elapsed(rule, zone, now, started)
    else:
        recurrence = _by_days(rule, zone, now, started)
    return replace(recurrence, rfc5545_gaps=_can_be_skipped(recurrence))


def _can_be_skipped(recurrence: Recurrence) -> bool:
    """Whether daylight saving can skip one of the times, so that RFC 5545's rule for skipped times applies."""
    (rule,) = recurrence.rules
    if not isinstance(rule, Calendar) or not isinstance(rule.times, Times | Grid):
        return False
    times = clock_times(rule.times)
    for opens, closes in gaps_of_day(load_zone(recurrence.zone)):
        for ahead in (0, DAY_SECONDS):
            index = bisect_left(times, opens - ahead)
            if index < len(times) and times[index] + ahead < closes:
                return True
    return False


def _elapsed(rule: RRule, zone: str, now: int, started: bool) -> Recurrence:
    step = UNIT_SECONDS[rule.frequency] * rule.interval
    limits = {name for name in ("hours", "minutes", "seconds", "positions") if getattr(rule, name)}
    allowed = {3600: {"minutes", "seconds"}, 60: {"seconds"}}.get(step, set())
    if rule.frequency != "SECONDLY" and 3600 % step == 0:
        allowed = allowed | {"hours"}
    if limits - allowed:
        raise NotExpressible
    days = days_of(rule, None)
    local = local_start(rule)
    start = resolve_local_rfc5545(load_zone(zone), local) if started else None
    if limits:
        minutes = rule.minutes or tuple(range(local // 60 % (step // 60) if started else 0, 60, step // 60))
        seconds = rule.seconds or (local % 60 if started else 0,)
        bound = intervals.whole_day(instant_of(start), zone) if start is not None else None
        return Recurrence((Calendar(clock(rule.hours or None, minutes, seconds), days),), zone, bound)
    if days and not intervals.divides_hour(step):
        raise NotExpressible
    if start is None:
        plain = intervals.without_start(step, now, zone)
        return Recurrence((replace(plain, days=days) if isinstance(plain, Calendar) else plain,), zone)
    made, bound_at = intervals.anchored(step, start, zone)
    made = replace(made, days=days) if isinstance(made, Calendar) else made
    return Recurrence((made,), zone, intervals.whole_day(bound_at, zone))


def _by_days(rule: RRule, zone: str, now: int, started: bool) -> Recurrence:
    hours = rule.hours or (rule.start.hour,)
    minutes = rule.minutes or (rule.start.minute,)
    seconds = rule.seconds or (rule.start.second,)
    first = rule.start.date() if started else None
    calendar = Calendar(clock(hours, minutes, seconds), days_of(rule, first))
    bound = _start_bound(rule, zone) if started else None
    every = rule.interval
    if every == 1:
        return Recurrence((calendar,), zone, bound)
    if rule.frequency == "WEEKLY" and _week_start_matters(rule, calendar.days):
        raise NotExpressible
    if rule.frequency == "MONTHLY" and 12 % every == 0 and not any(day.months for day in calendar.days):
        month = first.month if first else 1
        months = [(month - 1 + n * every) % 12 + 1 for n in range(12 // every)]
        named = [
            day_rule(months=months, days=d.days, weekdays=d.weekdays, nth=d.nth, business=d.business)
            for d in calendar.days
        ]
        return Recurrence((Calendar(calendar.times, any_of(named)),), zone, bound)
    probe = Recurrence((calendar,), zone, bound)
    tick = next(ticks(probe, instant_of(now) if bound is None else LONG_AGO), None)
    if tick is None:
        raise NotExpressible
    anchor = tick.astimezone(load_zone(zone)).date()
    if first is not None and anchor != first:
        raise NotExpressible
    step = Step(every, UNITS[rule.frequency], anchor)
    return Recurrence((Calendar(calendar.times, calendar.days, step),), zone, bound or anchor)


def _start_bound(rule: RRule, zone: str) -> date | datetime:
    """The start of a rule. With one time a day it is a date, which bounds the same ticks."""
    if rule.hours or rule.minutes or rule.seconds:
        at = resolve_local_rfc5545(load_zone(zone), local_start(rule))
        return intervals.whole_day(instant_of(at), zone) or instant_of(at)
    return rule.start.date()


def _week_start_matters(rule: RRule, days: tuple[DayRule, ...]) -> bool:
    """Whether the first day of the rule's weeks matters, which plans cannot express: their weeks begin on Monday."""
    return len({weekday >= rule.week_start for one in days for weekday in one.weekdays}) > 1


def excluded_days(recurrence: Recurrence, excluded: Sequence[int]) -> tuple[DayRule, ...]:
    """Convert excluded instants to excluded days; each must be the only tick of its day."""
    info = load_zone(recurrence.zone)
    days: list[date] = []
    for at in excluded:
        midnight = to_local(info, at) // DAY_SECONDS * DAY_SECONDS
        since, until = (resolve_local(info, midnight + ahead).at for ahead in (0, DAY_SECONDS))
        coming = islice(ticks(recurrence, instant_of(since - 1)), 2)
        if [tick for tick in coming if seconds_of(tick) < until] != [instant_of(at)]:
            raise NotExpressible
        days.append(date.fromordinal(midnight // DAY_SECONDS + EPOCH_ORDINAL))
    return tuple(dict.fromkeys(day_rule(dates=(day,)) for day in days))


def whole_day_end(at: int, zone: str) -> date | datetime:
    """The normal form of an end: the date, if it is the last second of a local day."""
    info = load_zone(zone)
    day = instant_of(at).astimezone(info).date()
    last = resolve_local(info, day_seconds(day.toordinal() + 1)).at - 1
    return day if last == at else instant_of(at)
