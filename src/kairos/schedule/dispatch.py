"""Which grammar a text is written in, decided by its shape alone; no grammar falls through to another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from . import calendar_event, cron, english, iso, rrule
from .errors import IntentError
from .evaluate import ticks
from .recurrence import Calendar
from .render import sentence
from .zones import instant_of

if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from datetime import date

    from .recurrence import Schedule

CRON_MARK = re.compile(r"(?<!\S)[*?]|\*/")
MACRO = re.compile(r"@[A-Za-z]")
ISO = re.compile(r"R-?[0-9]*/|P(?=[0-9T])|[0-9]{4}-[0-9]{2}-[0-9]{2}T|[0-9]{8}T[0-9]|[0-9]{4}-W[0-9]")
RRULE = re.compile(r"(?:RRULE:|DTSTART[:;]|EXDATE[:;]|(?:.*;)?FREQ=)", re.IGNORECASE | re.DOTALL)
CALENDAR_EVENT = re.compile(
    r"(?:.*[\s0-9*/,-]\*-|\*-|.*[A-Za-z0-9]\.\.[A-Za-z0-9]|.*\*:|.*:\*|.*[0-9*]~|.*:[0-9]+/[0-9]|.*[0-9]/[0-9]+:|OnCalendar\s*=)",
    re.IGNORECASE,
)
# What English reads as one instant and systemd as a time of every day or week.
ENGLISH_OR_EVENT = re.compile(
    r"(?:(?P<day>(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?),?\s+)?"
    r"(?P<time>\d\d:\d\d(?::\d\d)?(?:\s+(?:UTC|GMT|[a-z]+/\S+))?)",
    re.IGNORECASE | re.ASCII,
)
FIELD = re.compile(
    r"(?:[0-9*?,/#LW-]|(?<![A-Za-z])(?:JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC|SUN|MON|TUE|WED|THU|FRI|SAT))+",
    re.IGNORECASE,
)


def parse(text: str, now: int, zone: str, calendars: Mapping[str, Container[date]]) -> Schedule:
    """Compile an intent in whatever notation it is written."""
    stripped = text.strip()
    if not stripped:
        raise IntentError(
            "There is nothing here to understand.", text=text, suggestions=("every day at 09:00",)
        )
    if ISO.match(stripped):
        schedule = iso.parse(text, now, zone)
    elif RRULE.match(stripped):
        schedule = rrule.parse(text, now, zone)
    elif CALENDAR_EVENT.match(stripped):
        schedule = calendar_event.parse(text, now, zone)
    elif _is_cron(stripped):
        schedule = cron.parse(text, zone)
    else:
        if both := ENGLISH_OR_EVENT.fullmatch(stripped):
            _refuse_both(text, both)
        return english.parse(text, now, zone, calendars)
    if next(ticks(schedule, instant_of(now)), None) is None:
        raise IntentError("This would never fire.", text=text, length=len(text))
    if any(isinstance(rule, Calendar) and rule.step for rule in schedule.rules):
        _check_sayable(text, schedule, now)
    return schedule


def _check_sayable(text: str, schedule: Schedule, now: int) -> None:
    """What counts from a start is kept as its sentence: a rule that no sentence says is refused."""
    try:
        said = english.parse(sentence(schedule), now, "UTC", {})
    except IntentError:
        said = None
    if said != schedule:
        raise IntentError(
            "No one sentence says this: make it several schedules.", text=text, length=len(text)
        )


def _refuse_both(text: str, both: re.Match[str]) -> NoReturn:
    day, time = both["day"], both["time"]
    raise IntentError(
        f"In English this comes once, in systemd's notation every {'week' if day else 'day'}: say which.",
        text=text,
        position=len(text) - len(text.lstrip()),
        length=len(both[0]),
        suggestions=(f"{day + ' ' if day else ''}at {time}", f"every {day or 'day'} at {time}"),
    )


def _is_cron(text: str) -> bool:
    if MACRO.match(text) or text.startswith(("CRON_TZ=", "TZ=")):
        return True
    if CRON_MARK.search(text):
        return True
    if text[0] not in "0123456789":
        return False
    tokens = text.split()
    return len(tokens) >= 5 and all(FIELD.fullmatch(token) for token in tokens)
