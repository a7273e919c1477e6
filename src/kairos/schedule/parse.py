"""Compile an intent into a plan: choose its notation by its form, then parse it in that notation alone."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from kairos.schedule import timezones
from kairos.schedule.errors import IntentError
from kairos.schedule.plan.evaluate import ticks
from kairos.schedule.plan.plan import Plan, require_aware
from kairos.schedule.plan.recurrence import Calendar
from kairos.schedule.render.sentence import sentence
from kairos.schedule.timezones import instant_of

if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from datetime import date

    from kairos.schedule.plan.recurrence import Recurrence

CRON_MARK = re.compile(r"(?<!\S)[*?]|\*/")
MACRO = re.compile(r"@[A-Za-z]")
ISO = re.compile(r"R-?[0-9]*/|P(?=[0-9T])|[0-9]{4}-[0-9]{2}-[0-9]{2}T|[0-9]{8}T[0-9]|[0-9]{4}-W[0-9]")
RRULE = re.compile(r"(?:RRULE:|DTSTART[:;]|EXDATE[:;]|(?:.*;)?FREQ=)", re.IGNORECASE | re.DOTALL)
CALENDAR_EVENT = re.compile(
    r"(?:.*[\s0-9*/,-]\*-|\*-|.*[A-Za-z0-9]\.\.[A-Za-z0-9]|.*\*:|.*:\*|.*[0-9*]~|.*:[0-9]+/[0-9]|.*[0-9]/[0-9]+:|OnCalendar\s*=)",
    re.IGNORECASE,
)
# Texts that are one instant in English, and a time of every day or every week in systemd's notation.
ENGLISH_OR_EVENT = re.compile(
    r"(?:(?P<day>(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?),?\s+)?"
    r"(?P<time>\d\d:\d\d(?::\d\d)?(?:\s+(?:UTC|GMT|[a-z]+/\S+))?)",
    re.IGNORECASE | re.ASCII,
)
FIELD = re.compile(
    r"(?:[0-9*?,/#LW-]|(?<![A-Za-z])(?:JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC|SUN|MON|TUE|WED|THU|FRI|SAT))+",
    re.IGNORECASE,
)


def when(
    text: str,
    *,
    now: datetime | None = None,
    tz: str = "UTC",
    calendars: Mapping[str, Container[date]] | None = None,
) -> Plan:
    """Compile a text into a plan; raise `IntentError` if any part of it is not understood.

    `tz` is used if the text names no zone. `calendars` are sets of holidays by name.
    """
    zone = timezones.find_zone(tz)
    if zone is None:
        raise IntentError(timezones.unknown_zone(tz), text=tz, length=len(tz))
    instant = require_aware(now) if now is not None else datetime.now(UTC)
    calendars = calendars or {}
    # Round up to whole seconds, so that no tick comes before the requested delay has passed.
    seconds = timezones.seconds_of(instant) + (1 if instant.microsecond else 0)
    try:
        recurrence = parse(text, seconds, zone, calendars)
    except IntentError as refusal:
        raise refusal.suggest_only(partial(_parses, now=seconds, zone=zone, calendars=calendars)) from None
    return Plan(recurrence, calendars)


def read_sentence(sentence: str, calendars: Mapping[str, Container[date]] | None = None) -> Plan:
    """Parse a canonical sentence, including one whose last tick has passed."""
    # Every anchor in a canonical sentence is absolute; with the epoch as now, none of them is in the past.
    return when(sentence, now=datetime(1970, 1, 1, tzinfo=UTC), calendars=calendars)


def _parses(text: str, now: int, zone: str, calendars: Mapping[str, Container[date]]) -> bool:
    try:
        parse(text, now, zone, calendars)
    except IntentError:
        return False
    return True


def parse(text: str, now: int, zone: str, calendars: Mapping[str, Container[date]]) -> Recurrence:
    """Parse an intent in its notation. A text that one notation refuses is not tried in another."""
    # Imported here: most programs that use Kairos never read a schedule.
    from kairos.schedule.english import grammar
    from kairos.schedule.notations import cron, iso8601, rrule, rrule_sentence, systemd_calendar

    stripped = text.strip()
    if not stripped:
        raise IntentError("The text is empty.", text=text, suggestions=("every day at 09:00",))
    if ISO.match(stripped):
        recurrence = iso8601.parse(text, now, zone)
    elif RRULE.match(stripped):
        recurrence = rrule.parse(text, now, zone, partial(_reads_back, now=now))
    elif rrule_sentence.LEAD.match(stripped):
        recurrence = rrule_sentence.parse(text, now)
    elif CALENDAR_EVENT.match(stripped):
        recurrence = systemd_calendar.parse(text, now, zone)
    elif _is_cron(stripped):
        recurrence = cron.parse(text, zone)
    else:
        if both := ENGLISH_OR_EVENT.fullmatch(stripped):
            _refuse_both(text, both)
        return grammar.parse(text, now, zone, calendars)
    if next(ticks(recurrence, instant_of(now)), None) is None:
        raise IntentError("This would never fire.", text=text, length=len(text))
    stepped = any(isinstance(rule, Calendar) and rule.step for rule in recurrence.rules)
    if stepped and not _reads_back(recurrence, now):
        raise IntentError(
            "No single sentence can express this: make several schedules.", text=text, length=len(text)
        )
    return recurrence


def _reads_back(recurrence: Recurrence, now: int) -> bool:
    """Whether the canonical sentence of a recurrence parses to the same recurrence."""
    from kairos.schedule.english import grammar

    try:
        return grammar.parse(sentence(recurrence), now, "UTC", {}) == recurrence
    except IntentError:
        return False


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
