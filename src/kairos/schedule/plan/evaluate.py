"""Evaluate a recurrence into instants, in seconds of UTC; every search is bounded.

When the clocks change, a fixed local time that is skipped fires at the first valid instant, unless the same rule also
has the time that is one gap later: where clocks jump from 02:00 to 03:00, `30 1-5 * * *` fires at 03:30 and not also
at 03:00. A repeated local time
fires once, at the first of its two instants. Times that follow elapsed time (hourly ones, windows, intervals) fire in
each hour that passes. A recurrence with `rfc5545_gaps` resolves skipped times by RFC 5545: with the offset before the
gap.
"""

from __future__ import annotations

from bisect import bisect_left
from datetime import date, datetime, tzinfo
from functools import lru_cache
from heapq import merge
from typing import TYPE_CHECKING, assert_never

from kairos.errors import PlanUnreadable
from kairos.schedule.plan.clock_times import ClockTimes
from kairos.schedule.plan.days import DayFinder
from kairos.schedule.plan.recurrence import (
    DAY_SECONDS,
    Calendar,
    Grid,
    Hourly,
    Interval,
    Once,
    Recurrence,
    RRule,
    Rule,
    Times,
    Window,
)
from kairos.schedule.plan.rfc5545 import rule_ticks
from kairos.schedule.timezones import (
    EPOCH_ORDINAL,
    NO_STRETCH,
    day_seconds,
    earliest_local,
    instant_of,
    load_zone,
    local_stretch,
    offset_at,
    resolve_local,
    resolve_rfc5545_in_order,
    seconds_of,
    to_local,
    transition,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

LAST_SECOND = day_seconds(date(9_990, 1, 1).toordinal())
EARLIEST = -62_000_000_000  # in the year 5
SKIPPED_IN_A_ROW = 5_000  # an interval ends after this many excluded ticks in a row


def ticks(
    recurrence: Recurrence, after: datetime, calendars: Mapping[str, Container[date]] | None = None
) -> Iterator[datetime]:
    """Yield the instants strictly after `after` in order, without end if the recurrence has none."""
    zone = load_zone(recurrence.zone)
    holidays = [_calendar_named(name, calendars or {}) for name in recurrence.holidays]
    first, last = bounds(recurrence, zone)
    since = max(seconds_of(after), first - 1)
    streams = [_rule_ticks(rule, recurrence, holidays, zone, since) for rule in recurrence.rules]
    previous = since
    for tick in streams[0] if len(streams) == 1 else merge(*streams):
        if tick > last:
            return
        if tick > previous:
            previous = tick
            yield instant_of(tick)


def _calendar_named(name: str, calendars: Mapping[str, Container[date]]) -> Container[date]:
    if name not in calendars:
        raise PlanUnreadable(f"No calendar of holidays {name!r} is configured here: add it to the settings.")
    return calendars[name]


def bounds(recurrence: Recurrence, zone: tzinfo) -> tuple[int, int]:
    """The first and the last second at which a schedule may fire."""
    start, end = recurrence.start, recurrence.end
    first = -DAY_SECONDS * EPOCH_ORDINAL
    last = LAST_SECOND
    if isinstance(start, datetime):
        first = seconds_of(start)
    elif start:
        first = resolve_local(zone, day_seconds(start.toordinal())).at
    if isinstance(end, datetime):
        last = seconds_of(end)
    elif end:
        last = resolve_local(zone, day_seconds(end.toordinal() + 1)).at - 1
    return first, last


def _rule_ticks(
    rule: Rule,
    recurrence: Recurrence,
    holidays: Sequence[Container[date]],
    zone: tzinfo,
    since: int,
) -> Iterator[int]:
    if isinstance(rule, Once):
        return iter([seconds_of(rule.at)] if seconds_of(rule.at) > since else [])
    if isinstance(rule, Interval):
        return _interval_ticks(rule, recurrence, holidays, zone, since)
    if isinstance(rule, RRule):
        return rule_ticks(rule, zone, since)
    finder = DayFinder(rule, recurrence.exceptions, holidays)
    times = rule.times
    if isinstance(times, Times | Grid):
        return _fixed_ticks(finder, clock_times(times), zone, since, recurrence.rfc5545_gaps)
    if isinstance(times, Hourly):
        return _hourly_ticks(finder, _within_hour(times.minutes, times.seconds), zone, since)
    if isinstance(times, Window):
        return _window_ticks(finder, times, zone, since)
    assert_never(times)


def _interval_ticks(
    rule: Interval, recurrence: Recurrence, holidays: Sequence[Container[date]], zone: tzinfo, since: int
) -> Iterator[int]:
    anchor = seconds_of(rule.anchor)
    tick = _on_or_after(anchor, rule.seconds, since + 1)
    if not (recurrence.exceptions or holidays):
        while tick <= LAST_SECOND:
            yield tick
            tick += rule.seconds
        return
    allowed = DayFinder(Calendar(Times((0,))), recurrence.exceptions, holidays)
    skipped = 0
    while tick <= LAST_SECOND and skipped < SKIPPED_IN_A_ROW:
        day = _local_day(zone, tick)
        open_day = allowed.first(day)
        if open_day is None:
            return
        if open_day == day:
            skipped = 0
            yield tick
            tick += rule.seconds
        else:
            skipped += 1
            tick = _on_or_after(tick, rule.seconds, resolve_local(zone, day_seconds(open_day.toordinal())).at)


def _on_or_after(anchor: int, seconds: int, earliest: int) -> int:
    """The first tick of an interval that is not before `earliest`, nor before its anchor."""
    return anchor if anchor >= earliest else earliest + (anchor - earliest) % seconds


def _local_day(zone: tzinfo, instant: int) -> date:
    return date.fromordinal(to_local(zone, instant) // DAY_SECONDS + EPOCH_ORDINAL)


def clock_times(times: Times | Grid) -> Sequence[int] | ClockTimes:
    """Fixed times as seconds of the day, in order."""
    return times.at if isinstance(times, Times) else ClockTimes(times.hours, times.minutes, times.seconds)


@lru_cache(maxsize=256)
def _within_hour(minutes: tuple[int, ...], seconds: tuple[int, ...]) -> Sequence[int]:
    return [minute * 60 + second for minute in minutes for second in seconds]


def _first_day(zone: tzinfo, since: int) -> date:
    # Start one day early: a window over midnight may still tick after `since`.
    return date.fromordinal(to_local(zone, max(since, EARLIEST)) // DAY_SECONDS + EPOCH_ORDINAL - 1)


def _fixed_ticks(
    finder: DayFinder, times: Sequence[int] | ClockTimes, zone: tzinfo, since: int, rfc5545_gaps: bool
) -> Iterator[int]:
    local = _local_times(finder, times, earliest_local(zone, max(since, EARLIEST)))
    previous = since
    for tick in resolve_rfc5545_in_order(zone, local) if rfc5545_gaps else _resolved(zone, local, times):
        if tick > previous:
            previous = tick
            yield tick


def _local_times(finder: DayFinder, times: Sequence[int] | ClockTimes, floor: int) -> Iterator[int]:
    for day in finder.following(date.fromordinal(floor // DAY_SECONDS + EPOCH_ORDINAL)):
        midnight = day_seconds(day.toordinal())
        for index in range(bisect_left(times, floor - midnight), len(times)):
            yield midnight + times[index]


def _resolved(zone: tzinfo, ordered: Iterable[int], times: Sequence[int] | ClockTimes) -> Iterator[int]:
    """Resolve skipped times to the first valid instant, unless the rule also has the time one gap later."""
    stretch = NO_STRETCH
    for local in ordered:
        if not stretch.first <= local < stretch.end:
            stretch = local_stretch(zone, local)
        if not stretch.gap:
            yield local - stretch.offset
        elif local % DAY_SECONDS + stretch.gap not in times:
            yield stretch.opens


def _window_ticks(finder: DayFinder, window: Window, zone: tzinfo, since: int) -> Iterator[int]:
    previous = since
    for day in finder.following(_first_day(zone, since)):
        midnight = day_seconds(day.toordinal())
        opens = resolve_local(zone, midnight + window.opens).at
        closing_day = DAY_SECONDS if window.closes < window.opens else 0
        closes = resolve_local(zone, midnight + closing_day + window.closes).at
        tick = _on_or_after(opens, window.every, previous + 1)
        while tick <= closes:
            previous = tick
            yield tick
            tick += window.every


def _hourly_ticks(
    finder: DayFinder, seconds_of_hour: Sequence[int], zone: tzinfo, since: int
) -> Iterator[int]:
    """Yield the ticks between changes of the offset, where local time is UTC plus a constant."""
    now = since
    while now < LAST_SECOND:
        offset = offset_at(zone, now + 1)
        stretch_end = now + DAY_SECONDS
        if offset_at(zone, stretch_end) != offset:
            stretch_end = transition(zone, now + 1, stretch_end) - 1
        for tick in _hourly_between(finder, seconds_of_hour, now + offset, stretch_end + offset):
            yield tick - offset
        now = stretch_end
        day = finder.first(_local_day(zone, now))
        if day is None:
            return
        # Jump to two days before the next matching day: no offset is larger than that.
        now = max(now, day_seconds(day.toordinal()) - 2 * DAY_SECONDS)


def _hourly_between(
    finder: DayFinder, seconds_of_hour: Sequence[int], after: int, until: int
) -> Iterator[int]:
    for day in finder.following(date.fromordinal((after + 1) // DAY_SECONDS + EPOCH_ORDINAL)):
        midnight = day_seconds(day.toordinal())
        if midnight > until:
            return
        hour = max(midnight, after - after % 3600)
        while hour < midnight + DAY_SECONDS:
            for index in range(bisect_left(seconds_of_hour, after + 1 - hour), len(seconds_of_hour)):
                if hour + seconds_of_hour[index] > until:
                    return
                yield hour + seconds_of_hour[index]
            hour += 3600
