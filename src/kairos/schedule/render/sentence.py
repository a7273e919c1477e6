"""Render a recurrence as its canonical sentence, which parses back to an equal recurrence."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, assert_never

from kairos.schedule.plan import intervals
from kairos.schedule.plan import recurrence as plan
from kairos.schedule.render.days import days_text, exception_text, listed, runs
from kairos.schedule.render.rule_text import excluded_text, rule_text
from kairos.schedule.timezones import day_seconds, load_zone, resolve_local, seconds_of, to_local

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kairos.schedule.plan.recurrence import Recurrence, Rule


RFC5545_GAPS = "with skipped times by RFC 5545"


def sentence(recurrence: Recurrence) -> str:
    """Return the canonical sentence."""
    words = [" and ".join(_rule(rule, recurrence) for rule in recurrence.rules)]
    if recurrence.rfc5545_gaps:
        words.append(RFC5545_GAPS)
    if recurrence.start is not None:
        words.append(f"from {_bound(recurrence.start, recurrence.zone)}")
    if recurrence.end is not None:
        words.append(f"until {_bound(recurrence.end, recurrence.zone)}")
    excepted = [exception_text(rule) for rule in recurrence.exceptions]
    excepted += [
        name if name.lower().endswith("holidays") else f"{name} holidays" for name in recurrence.holidays
    ]
    words += [
        text for rule in recurrence.rules if isinstance(rule, plan.RRule) and (text := excluded_text(rule))
    ]
    if excepted:
        words.append(f"except {' and '.join(excepted)}")
    return f"{' '.join(words)} ({recurrence.zone})"


def _rule(rule: Rule, recurrence: Recurrence) -> str:
    if isinstance(rule, plan.Once):
        written = _bound(rule.at, recurrence.zone)
        return f"once at {written}" if "T" in written else f"once on {written.replace(' ', ' at ')}"
    if isinstance(rule, plan.Interval):
        return _interval(rule, recurrence.zone)
    if isinstance(rule, plan.Calendar):
        return _calendar(rule, recurrence)
    if isinstance(rule, plan.RRule):
        return rule_text(rule)
    assert_never(rule)


def _interval(rule: plan.Interval, zone: str) -> str:
    anchor = seconds_of(rule.anchor)
    aligned = (
        rule.seconds < plan.DAY_SECONDS
        and plan.DAY_SECONDS % rule.seconds == 0
        and intervals.keeps_offset(load_zone(zone))
    )
    if aligned and intervals.default_anchor(rule.seconds, anchor, zone) == anchor:
        return f"every {duration(rule.seconds)}"
    bound = intervals.whole_day(rule.anchor, zone)
    return f"every {duration(rule.seconds)} from {_bound(bound or rule.anchor, zone)}"


def duration(seconds: int) -> str:
    """“90 minutes”, “hour”."""
    for size, unit in ((3600, "hour"), (60, "minute"), (1, "second")):
        if seconds % size == 0:
            return unit if seconds == size else f"{seconds // size} {unit}s"
    raise AssertionError("one second divides everything")


def _calendar(rule: plan.Calendar, recurrence: Recurrence) -> str:
    times = rule.times
    if isinstance(times, plan.Times):
        return f"{days_text(rule.days, rule.step, False)} at {listed([clock(time) for time in times.at])}"
    if isinstance(times, plan.Grid):
        marks = f"at {_named('minute', times.minutes)} past {_named('hour', times.hours)}{_seconds(times.seconds)}"
        return f"{days_text(rule.days, rule.step, False)} {marks}"
    if isinstance(times, plan.Window):
        whole = times.opens == 0 and times.closes == plan.DAY_SECONDS - 1 and bool(rule.days)
        window = "" if whole else f" from {clock(times.opens)} to {clock(times.closes)}"
        return f"every {duration(times.every)}{window} {days_text(rule.days, rule.step, True)}".rstrip()
    if isinstance(times, plan.Hourly):
        return f"{_hourly(times, recurrence)} {days_text(rule.days, rule.step, True)}".rstrip()
    assert_never(times)


def _hourly(times: plan.Hourly, recurrence: Recurrence) -> str:
    plain = _plain_step(times)
    if plain is not None and _starts_on_a_tick(plain, times, recurrence):
        return f"every {duration(plain)}"
    if times.minutes == intervals.ALL and len(times.seconds) < 60:
        return f"every minute at {_named('second', times.seconds)}"
    return f"every hour at {_named('minute', times.minutes)}{_seconds(times.seconds)}"


def _plain_step(times: plan.Hourly) -> int | None:
    if times.seconds == (0,):
        step = 60 // len(times.minutes) if 60 % len(times.minutes) == 0 else 0
        return step * 60 if step and intervals.hourly(step * 60) == times else None
    step = 60 // len(times.seconds) if 60 % len(times.seconds) == 0 else 0
    return step if step and step < 60 and intervals.hourly(step) == times else None


def _starts_on_a_tick(step: int, times: plan.Hourly, recurrence: Recurrence) -> bool:
    if not isinstance(recurrence.start, datetime):
        return True
    return (
        intervals.hourly(step, to_local(load_zone(recurrence.zone), seconds_of(recurrence.start)) % 3600)
        == times
    )


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
    """Render a date, an unambiguous local time, or an instant with its offset."""
    if not isinstance(bound, datetime):
        return bound.isoformat()
    info = load_zone(zone)
    local = bound.astimezone(info)
    time = local.hour * 3600 + local.minute * 60 + local.second
    placed = resolve_local(info, day_seconds(local.date().toordinal()) + time)
    if placed.other is not None:
        return local.isoformat()
    return f"{local.date().isoformat()} {clock(time)}"
