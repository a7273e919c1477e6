"""A schedule in one canonical sentence, which compiles to an equal schedule."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, assert_never

from . import interval
from .recurrence import DAY_SECONDS, Calendar, Grid, Hourly, Interval, Once, Times, Window
from .render_days import days_text, exception_text, listed, runs
from .zones import day_seconds, load, place, seconds_of, to_local

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .recurrence import Schedule


def sentence(schedule: Schedule) -> str:
    """The canonical sentence of a schedule."""
    words = [" and ".join(_rule(rule, schedule) for rule in schedule.rules)]
    if schedule.start is not None:
        words.append(f"from {_bound(schedule.start, schedule.zone)}")
    if schedule.end is not None:
        words.append(f"until {_bound(schedule.end, schedule.zone)}")
    excepted = [exception_text(rule) for rule in schedule.exceptions]
    excepted += [
        name if name.lower().endswith("holidays") else f"{name} holidays" for name in schedule.holidays
    ]
    if excepted:
        words.append(f"except {' and '.join(excepted)}")
    return f"{' '.join(words)} ({schedule.zone})"


def _rule(rule: Once | Interval | Calendar, schedule: Schedule) -> str:
    if isinstance(rule, Once):
        written = _bound(rule.at, schedule.zone)
        return f"once at {written}" if "T" in written else f"once on {written.replace(' ', ' at ')}"
    if isinstance(rule, Interval):
        return _interval(rule, schedule.zone)
    if isinstance(rule, Calendar):
        return _calendar(rule, schedule)
    assert_never(rule)


def _interval(rule: Interval, zone: str) -> str:
    anchor = seconds_of(rule.anchor)
    aligned = (
        rule.seconds < DAY_SECONDS and DAY_SECONDS % rule.seconds == 0 and interval.keeps_offset(load(zone))
    )
    if aligned and interval.plain_anchor(rule.seconds, anchor, zone) == anchor:
        return f"every {duration(rule.seconds)}"
    bound = interval.whole_day(rule.anchor, zone)
    return f"every {duration(rule.seconds)} from {_bound(bound or rule.anchor, zone)}"


def duration(seconds: int) -> str:
    """“90 minutes”, “hour”."""
    for size, unit in ((3600, "hour"), (60, "minute"), (1, "second")):
        if seconds % size == 0:
            return unit if seconds == size else f"{seconds // size} {unit}s"
    raise AssertionError("one second divides everything")


def _calendar(rule: Calendar, schedule: Schedule) -> str:
    times = rule.times
    if isinstance(times, Times):
        return f"{days_text(rule.days, rule.step, False)} at {listed([clock(time) for time in times.at])}"
    if isinstance(times, Grid):
        marks = f"at {_named('minute', times.minutes)} past {_named('hour', times.hours)}{_seconds(times.seconds)}"
        return f"{days_text(rule.days, rule.step, False)} {marks}"
    if isinstance(times, Window):
        whole = times.opens == 0 and times.closes == DAY_SECONDS - 1 and bool(rule.days)
        window = "" if whole else f" from {clock(times.opens)} to {clock(times.closes)}"
        return f"every {duration(times.every)}{window} {days_text(rule.days, rule.step, True)}".rstrip()
    if isinstance(times, Hourly):
        return f"{_hourly(times, schedule)} {days_text(rule.days, rule.step, True)}".rstrip()
    assert_never(times)


def _hourly(times: Hourly, schedule: Schedule) -> str:
    plain = _plain_step(times)
    if plain is not None and _starts_on_a_tick(plain, times, schedule):
        return f"every {duration(plain)}"
    if times.minutes == interval.ALL and len(times.seconds) < 60:
        return f"every minute at {_named('second', times.seconds)}"
    return f"every hour at {_named('minute', times.minutes)}{_seconds(times.seconds)}"


def _plain_step(times: Hourly) -> int | None:
    if times.seconds == (0,):
        step = 60 // len(times.minutes) if 60 % len(times.minutes) == 0 else 0
        return step * 60 if step and interval.hourly(step * 60) == times else None
    step = 60 // len(times.seconds) if 60 % len(times.seconds) == 0 else 0
    return step if step and step < 60 and interval.hourly(step) == times else None


def _starts_on_a_tick(step: int, times: Hourly, schedule: Schedule) -> bool:
    if not isinstance(schedule.start, datetime):
        return True
    return interval.hourly(step, to_local(load(schedule.zone), seconds_of(schedule.start)) % 3600) == times


def clock(seconds: int) -> str:
    """“09:00”, or “09:00:30”."""
    text = f"{seconds // 3600:02}:{seconds % 3600 // 60:02}"
    return f"{text}:{seconds % 60:02}" if seconds % 60 else text


def _seconds(seconds: Sequence[int]) -> str:
    return "" if tuple(seconds) == (0,) else f" at {_named('second', seconds)}"


def _named(unit: str, numbers: Sequence[int]) -> str:
    """“minute 5”, “minutes 5 and 20”."""
    return f"{unit} {numbers[0]}" if len(numbers) == 1 else f"{unit}s {_numbers(numbers)}"


def _numbers(numbers: Sequence[int]) -> str:
    words: list[str] = []
    for first, last in runs([number + 1 for number in numbers]):
        if last - first > 1:
            words.append(f"{first - 1} to {last - 1}")
        else:
            words.extend(str(number - 1) for number in range(first, last + 1))
    return listed(words)


def _bound(bound: date | datetime, zone: str) -> str:
    """A day, or a local time that can only be one instant, or the instant with its offset."""
    if not isinstance(bound, datetime):
        return bound.isoformat()
    info = load(zone)
    local = bound.astimezone(info)
    time = local.hour * 3600 + local.minute * 60 + local.second
    placed = place(info, day_seconds(local.date().toordinal()) + time)
    if placed.other is not None:
        return local.isoformat()
    return f"{local.date().isoformat()} {clock(time)}"
