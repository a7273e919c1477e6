"""The normalised value that every intent compiles to.

    Schedule  = rules (their ticks united), zone, start, end, exceptions
    rule      = Once | Interval | Calendar
    Calendar  = days that match any DayRule (and the Step, if any), at Times | Grid | Hourly | Window

Every anchor is absolute, so the sentence means the same whenever it is read again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

DAY_SECONDS = 86_400
WORKWEEK = (0, 1, 2, 3, 4)

Unit = Literal["day", "week", "month", "year"]
Frequency = Literal["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"]


@dataclass(frozen=True, slots=True)
class DayRule:
    """Days that match every non-empty field; a field matches if any of its entries does.

    Weekdays count from Monday = 0; a negative day, ordinal or year day counts from the end.
    """

    months: tuple[int, ...] = ()
    days: tuple[int, ...] = ()
    weekdays: tuple[int, ...] = ()
    nth: tuple[tuple[int, int], ...] = ()  # (ordinal, weekday) within the month
    business: tuple[int, ...] = ()  # ordinals among Monday to Friday within the month
    nearest: tuple[int, ...] = ()  # the Monday-to-Friday day nearest this day of the month
    year_days: tuple[int, ...] = ()
    year_nth: tuple[tuple[int, int], ...] = ()  # (ordinal, weekday) within the year
    dates: tuple[date, ...] = ()
    span: tuple[date, date] | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """Only every `every`-th day, week (from Monday), month or year, counted from `anchor`."""

    every: int
    unit: Unit
    anchor: date


@dataclass(frozen=True, slots=True)
class Times:
    """Fixed local times, in seconds of the day."""

    at: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """Fixed local times as a product of hours, minutes and seconds."""

    hours: tuple[int, ...]
    minutes: tuple[int, ...]
    seconds: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class Hourly:
    """Every hour at these minutes and seconds, also in the hour that daylight saving repeats."""

    minutes: tuple[int, ...]
    seconds: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class Window:
    """From `opens` on, every `every` seconds of elapsed time, up to and including `closes`.

    Both are seconds of the local day; a window that closes before it opens closes on the next day.
    """

    opens: int
    closes: int
    every: int


@dataclass(frozen=True, slots=True)
class Once:
    """One instant, in UTC."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Interval:
    """`anchor` (in UTC) and every `seconds` of elapsed time after it."""

    seconds: int
    anchor: datetime


@dataclass(frozen=True, slots=True)
class Calendar:
    """Local times on local days."""

    times: Times | Grid | Hourly | Window
    days: tuple[DayRule, ...] = ()  # none: every day
    step: Step | None = None


@dataclass(frozen=True, slots=True)
class RRule:
    """An RFC 5545 rule that the other kinds of rule do not express.

    `start` (DTSTART) is a local time without a zone. Entries of `by_day` are (ordinal, weekday), ordinal 0 for every
    such weekday. An empty list of hours, minutes or seconds means that of the start. `excluded` are instants in UTC.
    """

    frequency: Frequency
    start: datetime
    interval: int = 1
    months: tuple[int, ...] = ()
    week_numbers: tuple[int, ...] = ()
    year_days: tuple[int, ...] = ()
    month_days: tuple[int, ...] = ()
    by_day: tuple[tuple[int, int], ...] = ()
    hours: tuple[int, ...] = ()
    minutes: tuple[int, ...] = ()
    seconds: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    week_start: int = 0
    excluded: tuple[datetime, ...] = ()


Rule = Once | Interval | Calendar | RRule


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A complete schedule: rules, zone, bounds and exceptions.

    `start` and `end` are inclusive; a date there is that whole local day. No tick falls on a day
    that matches one of `exceptions` or is in one of the named `holidays` calendars. `rfc5545_gaps`: a fixed local
    time that the clocks skip is resolved with the offset before the gap, not to the first valid instant.
    """

    rules: tuple[Rule, ...]
    zone: str
    start: date | datetime | None = None
    end: date | datetime | None = None
    exceptions: tuple[DayRule, ...] = ()
    holidays: tuple[str, ...] = ()
    rfc5545_gaps: bool = False


LISTED_TIMES = 12  # with more times than this, hours × minutes × seconds are stored as a product


def clock(
    hours: tuple[int, ...] | None, minutes: tuple[int, ...], seconds: tuple[int, ...] = (0,)
) -> Times | Grid | Hourly:
    """Return the normal form of hours × minutes × seconds; hours None means every hour of elapsed time."""
    if hours is None:
        return Hourly(minutes, seconds)
    if len(hours) * len(minutes) * len(seconds) > LISTED_TIMES:
        return Grid(hours, minutes, seconds)
    return Times(
        tuple(
            hour * 3600 + minute * 60 + second for hour in hours for minute in minutes for second in seconds
        )
    )
