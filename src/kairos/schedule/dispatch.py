"""Which grammar a text is written in, decided by its shape alone; no grammar falls through to another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from . import calendar_event, cron, english, iso, rrule
from .errors import IntentError
from .evaluate import ticks
from .zones import instant_of

if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from datetime import date

    from .recurrence import Schedule

MACRO = re.compile(r"@[A-Za-z]")
ISO = re.compile(r"R-?[0-9]*/|P(?=[0-9T])|[0-9]{4}-[0-9]{2}-[0-9]{2}T|[0-9]{8}T[0-9]|[0-9]{4}-W[0-9]")
RRULE = re.compile(r"(?:RRULE:|DTSTART[:;]|(?:.*;)?FREQ=)", re.IGNORECASE | re.DOTALL)
CALENDAR_EVENT = re.compile(
    r"(?:.*[\s0-9*/,-]\*-|\*-|.*[A-Za-z0-9]\.\.[A-Za-z0-9]|.*\*:|.*:\*|.*[0-9*]~|OnCalendar=)", re.IGNORECASE
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
        return english.parse(text, now, zone, calendars)
    if next(ticks(schedule, instant_of(now)), None) is None:
        raise IntentError("This would never fire.", text=text, length=len(text))
    return schedule


def _is_cron(text: str) -> bool:
    if MACRO.match(text) or text.startswith(("CRON_TZ=", "TZ=")):
        return True
    tokens = text.split()
    if any(token[0] in "*?" or "*/" in token for token in tokens):
        return True
    return (
        len(tokens) >= 5 and all(FIELD.fullmatch(token) for token in tokens) and tokens[0][0] in "0123456789"
    )
