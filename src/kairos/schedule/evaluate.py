"""When a schedule ticks: arithmetic in seconds of UTC, every search bounded.

A fixed local time that is skipped fires at the first valid instant (but not if the same rule has the
clock reading one gap later: `30 1-5 * * *` does not run at 04:00 and again at 04:30), a repeated one
fires once, at its first; what follows elapsed time fires whenever the clock on the wall shows it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache
from heapq import merge
from typing import TYPE_CHECKING, assert_never

from .days import DayFinder
from .recurrence import DAY_SECONDS, Calendar, Grid, Hourly, Interval, Once, Schedule, Times, Window
from .zones import (
    EPOCH_ORDINAL,
    day_seconds,
    instant_of,
    load,
    offset_at,
    place,
    seconds_of,
    to_local,
    transition,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

LAST_SECOND = day_seconds(date(9_990, 1, 1).toordinal())
NEVER = -(1 << 62)
SKIPPED_IN_A_ROW = 5_000  # an interval that meets only excepted days this often never meets another


def ticks(
    schedule: Schedule, after: datetime, calendars: Mapping[str, Container[date]] | None = None
) -> Iterator[datetime]:
    """The instants strictly after `after`, in order; endless if the schedule is."""
    zone = load(schedule.zone)
    holidays = [(calendars or {})[name] for name in schedule.holidays]
    first, last = bounds(schedule, zone)
    since = max(seconds_of(after), first - 1)
    streams = [_rule_ticks(rule, schedule, holidays, zone, since) for rule in schedule.rules]
    previous = since
    for tick in streams[0] if len(streams) == 1 else merge(*streams):
        if tick > last:
            return
        if tick > previous:
            previous = tick
            yield instant_of(tick)


def bounds(schedule: Schedule, zone: tzinfo) -> tuple[int, int]:
    """The first and the last second at which a schedule may tick."""
    start, end = schedule.start, schedule.end
    first = -DAY_SECONDS * EPOCH_ORDINAL
    last = LAST_SECOND
    if isinstance(start, datetime):
        first = seconds_of(start)
    elif start:
        first = place(zone, day_seconds(start.toordinal())).at
    if isinstance(end, datetime):
        last = seconds_of(end)
    elif end:
        last = place(zone, day_seconds(end.toordinal() + 1)).at - 1
    return first, last


def _rule_ticks(
    rule: Once | Interval | Calendar,
    schedule: Schedule,
    holidays: Sequence[Container[date]],
    zone: tzinfo,
    since: int,
) -> Iterator[int]:
    if isinstance(rule, Once):
        return iter([seconds_of(rule.at)] if seconds_of(rule.at) > since else [])
    if isinstance(rule, Interval):
        return _interval_ticks(rule, schedule, holidays, zone, since)
    finder = DayFinder(rule, schedule.exceptions, holidays)
    times = rule.times
    if isinstance(times, Times | Grid):
        return _fixed_ticks(finder, _listed(times), zone, since)
    if isinstance(times, Hourly):
        return _hourly_ticks(finder, _within_hour(times.minutes, times.seconds), zone, since)
    if isinstance(times, Window):
        return _window_ticks(finder, times, zone, since)
    assert_never(times)


def _interval_ticks(
    rule: Interval, schedule: Schedule, holidays: Sequence[Container[date]], zone: tzinfo, since: int
) -> Iterator[int]:
    anchor = seconds_of(rule.anchor)
    tick = _on_or_after(anchor, rule.seconds, since + 1)
    if not (schedule.exceptions or holidays):
        while tick <= LAST_SECOND:
            yield tick
            tick += rule.seconds
        return
    allowed = DayFinder(Calendar(Times((0,))), schedule.exceptions, holidays)
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
            tick = _on_or_after(tick, rule.seconds, place(zone, day_seconds(open_day.toordinal())).at)


def _on_or_after(anchor: int, seconds: int, earliest: int) -> int:
    """The first tick of an interval that is not before `earliest`, nor before its anchor."""
    return anchor if anchor >= earliest else earliest + (anchor - earliest) % seconds


def _local_day(zone: tzinfo, instant: int) -> date:
    return date.fromordinal(to_local(zone, instant) // DAY_SECONDS + EPOCH_ORDINAL)


@lru_cache(maxsize=256)
def _listed(times: Times | Grid) -> Sequence[int]:
    if isinstance(times, Times):
        return times.at
    return [h * 3600 + m * 60 + s for h in times.hours for m in times.minutes for s in times.seconds]


@lru_cache(maxsize=256)
def _within_hour(minutes: tuple[int, ...], seconds: tuple[int, ...]) -> Sequence[int]:
    return [minute * 60 + second for minute in minutes for second in seconds]


def _first_day(zone: tzinfo, since: int) -> date:
    # One day early: a whole skipped day, or a window over midnight, can still tick after `since`.
    return date.fromordinal(to_local(zone, max(since, -62_000_000_000)) // DAY_SECONDS + EPOCH_ORDINAL - 1)


def _fixed_ticks(finder: DayFinder, times: Sequence[int], zone: tzinfo, since: int) -> Iterator[int]:
    previous = since
    for day in finder.following(_first_day(zone, since)):
        midnight = day_seconds(day.toordinal())
        offset = offset_at(zone, midnight)
        steady = zone is UTC or (
            offset_at(zone, midnight - 2 * DAY_SECONDS)
            == offset
            == offset_at(zone, midnight + 2 * DAY_SECONDS)
        )
        skip = bisect_right(times, previous - (midnight - offset)) if steady else 0
        for index in range(skip, len(times)):
            local = midnight + times[index]
            tick = local - offset if steady else _place_fixed(zone, local, times[index], times)
            if tick > previous:
                previous = tick
                yield tick


def _place_fixed(zone: tzinfo, local: int, time: int, times: Sequence[int]) -> int:
    placed = place(zone, local)
    return NEVER if placed.gap and time + placed.gap in times else placed.at


def _window_ticks(finder: DayFinder, window: Window, zone: tzinfo, since: int) -> Iterator[int]:
    previous = since
    for day in finder.following(_first_day(zone, since)):
        midnight = day_seconds(day.toordinal())
        opens = place(zone, midnight + window.opens).at
        closing_day = DAY_SECONDS if window.closes < window.opens else 0
        closes = place(zone, midnight + closing_day + window.closes).at
        tick = _on_or_after(opens, window.every, previous + 1)
        while tick <= closes:
            previous = tick
            yield tick
            tick += window.every


def _hourly_ticks(finder: DayFinder, marks: Sequence[int], zone: tzinfo, since: int) -> Iterator[int]:
    """Walk stretches of constant offset: within one, local time is UTC plus a number."""
    now = since
    while now < LAST_SECOND:
        offset = offset_at(zone, now + 1)
        stretch_end = now + DAY_SECONDS
        if offset_at(zone, stretch_end) != offset:
            stretch_end = transition(zone, now + 1, stretch_end) - 1
        for tick in _marks_between(finder, marks, now + offset, stretch_end + offset):
            yield tick - offset
        now = stretch_end
        day = finder.first(_local_day(zone, now))
        if day is None:
            return
        # Two days short of the next matching day no offset can bring it nearer.
        now = max(now, day_seconds(day.toordinal()) - 2 * DAY_SECONDS)


def _marks_between(finder: DayFinder, marks: Sequence[int], after: int, until: int) -> Iterator[int]:
    for day in finder.following(date.fromordinal((after + 1) // DAY_SECONDS + EPOCH_ORDINAL)):
        midnight = day_seconds(day.toordinal())
        if midnight > until:
            return
        hour = max(midnight, after - after % 3600)
        while hour < midnight + DAY_SECONDS:
            for index in range(bisect_left(marks, after + 1 - hour), len(marks)):
                if hour + marks[index] > until:
                    return
                yield hour + marks[index]
            hour += 3600
