"""Render an RFC 5545 rule that is kept as a rule."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kairos.schedule.plan.recurrence import RRule

WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


def rule_text(rule: RRule) -> str:
    """“by RRULE FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO from 2026-05-11 09:00”."""
    lists = {
        "BYMONTH": rule.months,
        "BYWEEKNO": rule.week_numbers,
        "BYYEARDAY": rule.year_days,
        "BYMONTHDAY": rule.month_days,
        "BYDAY": [f"{nth or ''}{WEEKDAYS[weekday]}" for nth, weekday in rule.by_day],
        "BYHOUR": rule.hours,
        "BYMINUTE": rule.minutes,
        "BYSECOND": rule.seconds,
        "BYSETPOS": rule.positions,
    }
    parts = [f"FREQ={rule.frequency}"]
    if rule.interval > 1:
        parts.append(f"INTERVAL={rule.interval}")
    parts += [f"{name}={','.join(map(str, values))}" for name, values in lists.items() if values]
    if rule.week_start:
        parts.append(f"WKST={WEEKDAYS[rule.week_start]}")
    start = f"{rule.start:%Y-%m-%d %H:%M}" + (f":{rule.start:%S}" if rule.start.second else "")
    return f"by RRULE {';'.join(parts)} from {start}"


def excluded_text(rule: RRule) -> str:
    """“except at 2026-05-11T07:00:00Z”, or nothing."""
    instants = [f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" for instant in rule.excluded]
    return f"except at {' and '.join(instants)}" if instants else ""
