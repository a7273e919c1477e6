"""systemd's OnCalendar: `Mon..Fri *-*-* 09:00:00 Europe/Berlin`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import NoReturn

from kairos.schedule import timezones
from kairos.schedule.english.vocabulary import WEEKDAY_NAMES
from kairos.schedule.errors import IntentError
from kairos.schedule.plan.days import month_length
from kairos.schedule.plan.normal_form import any_of, day_rule
from kairos.schedule.plan.recurrence import Calendar, Once, Recurrence, clock
from kairos.schedule.timezones import day_seconds, instant_of, load_zone, resolve_local

WEEKDAYS = {name: number for number, name in enumerate(WEEKDAY_NAMES)}
WEEKDAYS |= {name[:3]: number for name, number in WEEKDAYS.items()}
TOKEN = re.compile(r"\S+")
PREFIX = re.compile(r"\s*OnCalendar\s*=", re.IGNORECASE)
SHORTHANDS = {
    "minutely": ("*-*-*", "*:*"),
    "hourly": ("*-*-*", "*:00"),
    "daily": ("*-*-*", "00:00"),
    "weekly": ("*-*-*", "00:00"),
    "monthly": ("*-*-01", "00:00"),
    "yearly": ("*-01-01", "00:00"),
    "annually": ("*-01-01", "00:00"),
    "quarterly": ("*-01,04,07,10-01", "00:00"),
    "semiannually": ("*-01,07-01", "00:00"),
}


@dataclass(frozen=True, slots=True)
class Part:
    """One component of the text."""

    text: str
    position: int
    whole: str

    def refuse(self, reason: str) -> NoReturn:
        raise IntentError(
            f"{self.text!r} in this calendar event: {reason}.",
            text=self.whole,
            position=self.position,
            length=len(self.text),
            suggestions=("Mon..Fri *-*-* 09:00", "every weekday at 09:00"),
        )


def parse(text: str, now: int, zone: str) -> Recurrence:
    """Compile a calendar event."""
    prefix = PREFIX.match(text)
    parts = [Part(f[0], f.start(), text) for f in TOKEN.finditer(text, prefix.end() if prefix else 0)]
    weekdays: tuple[int, ...] = ()
    day = time = None
    for index, part in enumerate(parts):
        lower = part.text.lower()
        if ":" in part.text and time is None:
            time = part
        elif lower in SHORTHANDS and index == 0:
            day, time = (Part(shorthand, part.position, text) for shorthand in SHORTHANDS[lower])
            weekdays = (0,) if lower == "weekly" else ()
        elif re.match(r"[a-z]{3,9}(?:[,.-]|$)", lower) and lower[:3] in WEEKDAYS and index == 0:
            weekdays = _weekdays(part)
        elif re.search(r"[0-9*][-~]", part.text) and day is None and time is None:
            day = part
        elif index == len(parts) - 1 and index > 0:
            zone = timezones.find_zone(part.text) or part.refuse("that is not a time zone")
        else:
            part.refuse("not understood here")
    if day is None and time is None and not (prefix and weekdays):
        Part(text, 0, text).refuse("it names neither a date nor a time")
    return _schedule(text, weekdays, day, time, now, zone)


def _schedule(
    text: str, weekdays: tuple[int, ...], day: Part | None, time: Part | None, now: int, zone: str
) -> Recurrence:
    hours, minutes, seconds = _time(time) if time else ((0,), (0,), (0,))
    years: tuple[int, ...] | None = None
    months: tuple[int, ...] = ()
    days: tuple[int, ...] = ()
    if day is not None:
        years, months, days = _date(day)
    if (
        years
        and len(years) == len(months) == len(days) == 1
        and hours
        and len(hours) == len(minutes) == len(seconds) == 1
    ):
        return _once(
            text,
            day,
            (years[0], months[0], days[0]),
            hours[0] * 3600 + minutes[0] * 60 + seconds[0],
            now,
            zone,
        )
    first = last = None
    if years:
        if years != tuple(range(years[0], years[-1] + 1)) and day:
            day.refuse("years that do not follow each other need a schedule each")
        first, last = date(years[0], 1, 1), date(years[-1], 12, 31)
    rule = day_rule(months=months, days=days, weekdays=weekdays)
    return Recurrence((Calendar(clock(hours, minutes, seconds), any_of([rule])),), zone, first, last)


def _once(
    text: str, day: Part | None, when: tuple[int, int, int], time: int, now: int, zone: str
) -> Recurrence:
    assert day is not None
    year, month, number = when
    if not 1 <= number <= month_length(year, month):
        day.refuse("there is no such date")
    placed = resolve_local(load_zone(zone), day_seconds(date(year, month, number).toordinal()) + time)
    if placed.gap or placed.other is not None:
        Part(text, 0, text).refuse("daylight saving skips or repeats that local time")
    if placed.at <= now:
        Part(text, 0, text).refuse("it lies in the past")
    return Recurrence((Once(instant_of(placed.at)),), zone)


def _weekdays(part: Part) -> tuple[int, ...]:
    found: set[int] = set()
    for piece in part.text.lower().rstrip(",").split(","):
        first, dots, last = piece.replace("-", "..").partition("..")
        if first not in WEEKDAYS or (dots and last not in WEEKDAYS):
            part.refuse("that is not a weekday")
        if dots and WEEKDAYS[last] < WEEKDAYS[first]:
            part.refuse("the range runs backwards")
        found.update(range(WEEKDAYS[first], WEEKDAYS[last if dots else first] + 1))
    return tuple(sorted(found))


def _date(part: Part) -> tuple[tuple[int, ...] | None, tuple[int, ...], tuple[int, ...]]:
    text, from_end = part.text, False
    if "~" in text:
        text, from_end = text.replace("~", "-"), True
    pieces = text.split("-")
    if len(pieces) == 2:
        pieces = ["*", *pieces]
    if len(pieces) != 3:
        part.refuse("a date is year-month-day")
    years = None if pieces[0] == "*" else _numbers(part, pieces[0], 1970, 9_990)
    months = () if pieces[1] == "*" else _numbers(part, pieces[1], 1, 12)
    if from_end:
        if pieces[2] == "*":
            part.refuse("`~` counts days from the end of the month")
        return years, months, tuple(-number for number in _numbers(part, pieces[2], 1, 28, steps_to=1))
    return years, months, () if pieces[2] == "*" else _numbers(part, pieces[2], 1, 31)


def _time(part: Part) -> tuple[tuple[int, ...] | None, tuple[int, ...], tuple[int, ...]]:
    pieces = part.text.split(":")
    if len(pieces) not in (2, 3):
        part.refuse("a time is hour:minute or hour:minute:second")
    hours = None if pieces[0] == "*" else _numbers(part, pieces[0], 0, 23)
    minutes, seconds = (
        tuple(range(60)) if piece == "*" else _numbers(part, piece, 0, 59) for piece in (*pieces[1:], "0")[:2]
    )
    return hours, minutes, seconds


def _numbers(part: Part, text: str, low: int, high: int, steps_to: int | None = None) -> tuple[int, ...]:
    """Return the numbers of one field. A step without an end runs to the highest value, or down to `steps_to`."""
    found: set[int] = set()
    for piece in text.split(","):
        span, slash, step_text = piece.partition("/")
        first_text, dots, last_text = span.partition("..")
        first = _number(part, first_text, low, high)
        last = _number(part, last_text, low, high) if dots else first
        step = _number(part, step_text, 1, high) if slash else 1
        if last < first:
            part.refuse("the range runs backwards")
        if slash and not dots and steps_to is not None:
            found.update(range(first, steps_to - 1, -step))
        else:
            found.update(range(first, (high if slash and not dots else last) + 1, step))
    return tuple(sorted(found))


def _number(part: Part, text: str, low: int, high: int) -> int:
    if not re.fullmatch(r"[0-9]{1,4}", text):
        part.refuse(f"{text!r} is not a number from {low} to {high}")
    if not low <= int(text) <= high:
        part.refuse(f"{text} is not from {low} to {high}")
    return int(text)
