"""Intervals of elapsed time in normal form.

An interval that divides the hour is a pattern of minutes; any other counts from an anchor.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timezone, tzinfo
from functools import lru_cache

from kairos.schedule.plan.recurrence import DAY_SECONDS, Calendar, Hourly, Interval
from kairos.schedule.timezones import day_seconds, instant_of, load_zone, offset_at, resolve_local, to_local

ALWAYS_ANCHOR = date(2000, 1, 1)
ALL = tuple(range(60))


def divides_hour(seconds: int) -> bool:
    return (seconds % 60 == 0 and 3600 % seconds == 0) if seconds >= 60 else 60 % seconds == 0


def hourly(seconds: int, phase: int = 0) -> Hourly:
    """The minutes and seconds on the clock of an interval that divides the hour."""
    if seconds >= 60:
        step = seconds // 60
        return Hourly(tuple(range(phase // 60 % step, 60, step)), (phase % 60,))
    return Hourly(ALL, tuple(range(phase % seconds, 60, seconds)))


def anchored(seconds: int, anchor: int, zone: str) -> tuple[Interval | Calendar, datetime | None]:
    """Return an interval that begins at an instant, and the start bound it needs, if any."""
    if divides_hour(seconds):
        return Calendar(hourly(seconds, to_local(load_zone(zone), anchor) % 3600)), instant_of(anchor)
    return Interval(seconds, instant_of(anchor)), None


def without_start(seconds: int, now: int, zone: str) -> Interval | Calendar:
    """Return an interval without a stated start: aligned to the hour or the day if it divides it, otherwise to now."""
    if divides_hour(seconds):
        return Calendar(hourly(seconds))
    return Interval(seconds, instant_of(default_anchor(seconds, now, zone)))


def default_anchor(seconds: int, now: int, zone: str) -> int:
    """Return local midnight if the interval divides the day (a fixed one if the offset is constant), otherwise now."""
    info = load_zone(zone)
    if seconds >= DAY_SECONDS or DAY_SECONDS % seconds:
        return now
    if keeps_offset(info):
        return resolve_local(info, day_seconds(ALWAYS_ANCHOR.toordinal())).at
    local = to_local(info, now)
    return resolve_local(info, local - local % DAY_SECONDS).at


@lru_cache(maxsize=1024)
def keeps_offset(zone: tzinfo) -> bool:
    """Whether a zone has had one constant offset since 2000."""
    if zone is UTC or isinstance(zone, timezone):
        return True
    checks = [
        day_seconds(date(year, month, 1).toordinal())
        for year in (2000, 2010, 2025, 2035)
        for month in (1, 4, 7, 10)
    ]
    return len({offset_at(zone, check) for check in checks}) == 1


def whole_day(bound: date | datetime | None, zone: str) -> date | datetime | None:
    """Return a start at local midnight as a date, its normal form."""
    if not isinstance(bound, datetime):
        return bound
    info = load_zone(zone)
    local = bound.astimezone(info).date()
    return local if instant_of(resolve_local(info, day_seconds(local.toordinal())).at) == bound else bound
