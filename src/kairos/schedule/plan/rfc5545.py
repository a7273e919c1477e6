"""Evaluate an RFC 5545 rule that no sentence expresses.

A rule of days or longer lists local times, day by day. A rule of hours, minutes or seconds counts elapsed time from its
start, and is limited by local time. Days and times are computed one by one as they are asked for, and what lies before
the instant that is asked for is skipped by arithmetic, so the cost grows neither with the age of the rule nor with the
number of its ticks.
"""

from __future__ import annotations

from bisect import bisect_left
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from math import gcd
from typing import TYPE_CHECKING

from kairos.schedule.plan.clock_times import ClockTimes, ReachableTimes
from kairos.schedule.plan.recurrence import DAY_SECONDS, RRule
from kairos.schedule.plan.rfc5545_days import LAST_YEAR, RuleDays, period_bounds, period_of
from kairos.schedule.timezones import (
    EPOCH_ORDINAL,
    day_seconds,
    earliest_local,
    offset_at,
    resolve_local_rfc5545,
    resolve_rfc5545_in_order,
    seconds_of,
    to_local,
    transition,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

UNIT_SECONDS = {"HOURLY": 3600, "MINUTELY": 60, "SECONDLY": 1}
LAST_SECOND = day_seconds(date(LAST_YEAR, 12, 31).toordinal())
YEAR_SECONDS = 366 * DAY_SECONDS
EMPTY_YEARS = 100  # after so many years without a matching day, a rule has ended
EMPTY_JUMPS = 10_000  # a rule of hours, minutes or seconds has ended after so many jumps without a match
STEADY_SECONDS = 7 * DAY_SECONDS  # no zone changes its offset and changes it back within this time


def rule_ticks(rule: RRule, zone: tzinfo, since: int) -> Iterator[int]:
    """Yield the instants of a rule after `since`, in seconds since the epoch."""
    excluded = {seconds_of(instant) for instant in rule.excluded}
    start = resolve_local_rfc5545(zone, local_start(rule))
    previous = max(since, start - 1)
    found = (
        _elapsed(rule, zone, start, previous)
        if rule.frequency in UNIT_SECONDS
        else _expanded(rule, zone, previous)
    )
    for tick in found:
        if tick > previous:
            previous = tick
            if tick not in excluded:
                yield tick


def local_start(rule: RRule) -> int:
    """The start in local seconds since the epoch."""
    return seconds_of(rule.start.replace(tzinfo=UTC))


def _expanded(rule: RRule, zone: tzinfo, since: int) -> Iterator[int]:
    """Yield the instants of a rule of days, weeks, months or years."""
    floor = max(earliest_local(zone, since), local_start(rule))
    return resolve_rfc5545_in_order(zone, _local_times(rule, floor))


def _local_times(rule: RRule, floor: int) -> Iterator[int]:
    """The local times of a rule of days or longer in order, from `floor` on."""
    times = ClockTimes(
        rule.hours or (rule.start.hour,),
        rule.minutes or (rule.start.minute,),
        rule.seconds or (rule.start.second,),
    )
    longest = {"DAILY": 1, "WEEKLY": 7, "MONTHLY": 31}.get(rule.frequency, 366) * len(times)
    if rule.positions and not any(abs(position) <= longest for position in rule.positions):
        return
    days = RuleDays(rule)
    day: int | None = floor // DAY_SECONDS + EPOCH_ORDINAL
    patience = max(EMPTY_YEARS, 2 * rule.interval)
    last_year = date.fromordinal(floor // DAY_SECONDS + EPOCH_ORDINAL).year + patience
    while day is not None and (found := days.first_from(day, last_year)) is not None:
        number = period_of(rule, found)
        if ahead := -number % rule.interval:
            bounds = period_bounds(rule, number + ahead)
            day = bounds[0] if bounds else None
            continue
        if rule.positions:
            first, last = period_bounds(rule, number) or (found, found)
            local = _positioned(rule.positions, days.between(first, last), times)
            yield from local[bisect_left(local, floor) :]
        else:
            last = found
            midnight = day_seconds(found)
            local = [midnight]
            for time in times.from_second(floor - midnight):
                yield midnight + time
        if local:
            last_year = date.fromordinal(found).year + patience
        day = last + 1


def _positioned(positions: Sequence[int], days: Sequence[int], times: ClockTimes) -> list[int]:
    """Select the local times of one period by BYSETPOS, without listing them all."""
    size = len(days) * len(times)
    chosen = sorted({n - 1 if n > 0 else size + n for n in positions if abs(n) <= size})
    return [day_seconds(days[n // len(times)]) + times[n % len(times)] for n in chosen]


def _elapsed(rule: RRule, zone: tzinfo, start: int, since: int) -> Iterator[int]:
    """Yield the instants of a rule of hours, minutes or seconds."""
    unit = UNIT_SECONDS[rule.frequency]
    step = unit * rule.interval
    ticks_of_unit = _within_unit(rule, unit)
    if not ticks_of_unit:
        return
    allowed = _Allowed(rule, unit, step)
    first = start - local_start(rule) % unit
    at = first if since < first else since - (since - first) % step
    patience = max(EMPTY_YEARS * YEAR_SECONDS, 2 * step)
    last, empty = at + patience, 0
    while empty < EMPTY_JUMPS and at <= min(last, LAST_SECOND):
        local = to_local(zone, at)
        begin = local - local % unit
        coming = allowed.first_from(begin, begin + patience)
        if coming is None:
            return
        if coming == begin:
            for tick in ticks_of_unit:
                yield at - local % unit + tick
            last, empty = at + patience, 0
            at += step
            continue
        # Jump at most to the next change of the offset: after it, other local times can be reached.
        reached = _same_offset_until(zone, at, min(at + coming - begin, last + 1))
        empty += 1
        at += step * max(1, -(-(reached - at) // step))


class _Allowed:
    """The hours, minutes or seconds of local time in which a rule that counts elapsed time may tick."""

    def __init__(self, rule: RRule, unit: int, step: int) -> None:
        self._days = RuleDays(rule)
        self._cycle = gcd(step, DAY_SECONDS)
        self._times = ReachableTimes(
            rule.hours or range(24),
            (rule.minutes or range(60)) if unit < 3600 else (0,),
            (rule.seconds or range(60)) if unit < 60 else (0,),
            self._cycle,
        )

    def first_from(self, local: int, unreachable: int) -> int | None:
        """The first allowed unit from local time `local` on that whole steps reach; None if no day matches.

        Returns `unreachable` if steps reach one only after a change of the offset.
        """
        remainder = local % self._cycle
        day, second = local // DAY_SECONDS + EPOCH_ORDINAL, local % DAY_SECONDS
        last_year = date.fromordinal(day).year + EMPTY_YEARS
        found = self._days.first_from(day, last_year)
        first_of_day = self._times.first(remainder)
        if found is None or first_of_day is None:
            return found and unreachable
        if found == day:
            time = self._times.first_from(second, remainder)
            if time is not None:
                return day_seconds(day) + time
            found = self._days.first_from(day + 1, last_year)
        return None if found is None else day_seconds(found) + first_of_day


def _same_offset_until(zone: tzinfo, at: int, until: int) -> int:
    """The first instant after `at` that has another offset, or `until`."""
    if isinstance(zone, timezone):
        return until
    offset = offset_at(zone, at)
    until = min(until, LAST_SECOND + 1)
    while at < until:
        ahead = min(at + STEADY_SECONDS, until)
        if offset_at(zone, ahead) != offset:
            return transition(zone, at, ahead)
        at = ahead
    return until


def _within_unit(rule: RRule, unit: int) -> list[int]:
    """The ticks of one hour, minute or second, in seconds since its start."""
    times = ClockTimes(
        (0,),
        (rule.minutes or (rule.start.minute,)) if unit == 3600 else (0,),
        (rule.seconds or (rule.start.second,)) if unit > 1 else (0,),
    )
    if rule.positions:
        return [at - day_seconds(1) for at in _positioned(rule.positions, [1], times)]
    return list(times.from_second(0))


def start_is_instance(rule: RRule, zone: tzinfo) -> bool:
    """Whether the rule itself generates its start."""
    start = resolve_local_rfc5545(zone, local_start(rule))
    return next(rule_ticks(rule, zone, start - 1), None) == start


def naive_local(local: int) -> datetime:
    """Local seconds since the epoch as a datetime without a zone."""
    return datetime(1970, 1, 1) + timedelta(seconds=local)
