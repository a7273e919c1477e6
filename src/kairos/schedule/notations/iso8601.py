"""ISO 8601: instants, durations from now, and repeating intervals (`R5/…` is five ticks in all)."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import NoReturn

from kairos.schedule.errors import IntentError
from kairos.schedule.plan import intervals
from kairos.schedule.plan.days import add_months
from kairos.schedule.plan.normal_form import any_of, day_rule
from kairos.schedule.plan.recurrence import Calendar, Once, Recurrence, Step, Times
from kairos.schedule.timezones import (
    EPOCH_ORDINAL,
    day_seconds,
    find_zone,
    instant_of,
    load_zone,
    resolve_local,
    to_local,
)

# Of the calendar of Python, without the years in which an offset leads beyond it.
FIRST_YEAR, LAST_YEAR = 2, 9998
INSTANT = re.compile(
    r"([0-9]{4})-?([0-9]{2})-?([0-9]{2})T([0-9]{2})(?::?([0-9]{2})(?::?([0-9]{2})(?:[.,]0+)?)?)?"
    r"(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?",
    re.IGNORECASE,
)
DURATION = re.compile(
    r"P(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)W)?(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)S)?)?"
)
MAX_COUNT = 1_000_000


def parse(text: str, now: int, zone: str) -> Recurrence:
    """Compile an ISO 8601 instant, duration or repeating interval."""
    stripped = text.strip()
    offset = text.index(stripped)
    if stripped.upper().startswith("R"):
        return _repeating(text, stripped, offset, now, zone)
    if stripped.startswith("P"):
        return _after(text, stripped, offset, now, zone)
    at, zone, _ = _instant(text, stripped, offset, zone)
    if at <= now:
        _refuse(text, "That is in the past.", offset, stripped)
    return Recurrence((Once(instant_of(at)),), zone)


def _refuse(text: str, message: str, position: int, part: str, suggestions: tuple[str, ...] = ()) -> NoReturn:
    raise IntentError(message, text=text, position=position, length=len(part), suggestions=suggestions)


def _instant(text: str, part: str, position: int, zone: str) -> tuple[int, str, bool]:
    """Seconds since the epoch, the zone, and whether the text gave its own offset."""
    found = INSTANT.fullmatch(part)
    if found is None or ("-" in part[:8]) != ("-" in part[5:8]):
        _refuse(text, f"{part!r} is not an ISO 8601 instant.", position, part, ("2030-01-31T09:00:00Z",))
    year, month, day, hour, minute, second = (int(found[n] or 0) for n in range(1, 7))
    try:
        local = datetime(year, month, day, hour, minute, second)
        named = find_zone(found[7]) if found[7] else zone
    except ValueError:
        local, named = None, None
    if local is None or named is None:
        _refuse(text, f"There is no such instant as {part}.", position, part)
    if not FIRST_YEAR <= local.year <= LAST_YEAR:  # with its offset, the others may be beyond the calendar
        _refuse(text, f"{part} is not in the years {FIRST_YEAR} to {LAST_YEAR}.", position, part)
    seconds = day_seconds(local.toordinal()) + hour * 3600 + minute * 60 + second
    placed = resolve_local(load_zone(named), seconds)
    if placed.gap or placed.other is not None:
        info = load_zone(named)
        instants = [placed.at] if placed.other is None else [placed.at, placed.other]
        readings = tuple(instant_of(at).astimezone(info).isoformat() for at in instants)
        verb = "does not exist" if placed.gap else "comes twice"
        _refuse(text, f"{part} {verb} in {named}: add the offset.", position, part, readings)
    return placed.at, named, found[7] is not None


def _duration(text: str, part: str, position: int) -> tuple[int, int, int]:
    """Months, days and seconds of a duration."""
    found = DURATION.fullmatch(part)
    if found is None or part in ("P", "PT") or part.endswith("T"):
        _refuse(
            text, f"{part!r} is not an ISO 8601 duration in whole units.", position, part, ("PT20M", "P1D")
        )
    years, months, weeks, days, hours, minutes, seconds = (int(piece or 0) for piece in found.groups())
    months, days, seconds = years * 12 + months, weeks * 7 + days, hours * 3600 + minutes * 60 + seconds
    if not (months or days or seconds):
        _refuse(text, "A duration of zero is no duration.", position, part, ("PT20M", "P1D"))
    if months > 12_000 or days > 400_000 or seconds > 10**10:
        _refuse(text, "That is longer than can be scheduled.", position, part)
    return months, days, seconds


def _after(text: str, part: str, position: int, now: int, zone: str) -> Recurrence:
    months, days, seconds = _duration(text, part, position)
    at = now
    if months or days:
        ordinal, time = divmod(to_local(load_zone(zone), now), 86_400)
        day = add_months(date.fromordinal(ordinal + EPOCH_ORDINAL), months)
        if day is None:
            _refuse(text, "That many months ahead there is no such day.", position, part, ("P30D",))
        placed = resolve_local(load_zone(zone), day_seconds((day + timedelta(days=days)).toordinal()) + time)
        if placed.gap or placed.other is not None:
            _refuse(text, "That local time is skipped or repeated by daylight saving.", position, part)
        at = placed.at
    return Recurrence((Once(instant_of(at + seconds)),), zone)


def _repeating(text: str, whole: str, position: int, now: int, zone: str) -> Recurrence:
    parts = whole.split("/")
    count_text = parts[0][1:]
    if count_text and not count_text.isdecimal():
        _refuse(text, "A count is a number, or nothing for no end.", position, parts[0], ("R/PT15M",))
    count = int(count_text) if count_text else None
    if count is not None and not 1 <= count <= MAX_COUNT:
        _refuse(text, f"A count goes from 1 to {MAX_COUNT}.", position, parts[0])
    offset = position + len(parts[0]) + 1
    if len(parts) == 2 and parts[1].startswith("P"):
        months, days, seconds = _duration(text, parts[1], offset)
        if count is not None or months or days:
            _refuse(
                text,
                "From when? Put the start between the slashes.",
                offset,
                parts[1],
                ("R/PT15M", "every day at 09:00"),
            )
        return Recurrence((intervals.without_start(seconds, now, zone),), zone)
    if len(parts) != 3:
        _refuse(
            text,
            "A repeating interval is R[count]/start/duration.",
            position,
            whole,
            ("R5/2030-01-01T09:00:00Z/PT1H",),
        )
    anchor, zone, absolute = _instant(text, parts[1], offset, zone)
    after = offset + len(parts[1]) + 1
    if parts[2].startswith("P"):
        months, days, seconds = _duration(text, parts[2], after)
    else:
        end, _, _ = _instant(text, parts[2], after, zone)
        months, days, seconds = 0, 0, end - anchor
        if seconds <= 0:
            _refuse(text, "This interval ends before it starts.", after, parts[2])
    if (months or days) and seconds:
        _refuse(text, "Days with hours leave daylight saving open: use one of them.", after, parts[2])
    if absolute and days:
        days, seconds = 0, days * 86_400
    if seconds:
        return _elapsed(anchor, seconds, count, zone)
    return _by_calendar(text, parts[2], after, anchor, months, days, count, zone)


def _elapsed(anchor: int, seconds: int, count: int | None, zone: str) -> Recurrence:
    rule, start = intervals.anchored(seconds, anchor, zone)
    end = instant_of(anchor + seconds * (count - 1)) if count is not None else None
    return Recurrence((rule,), zone, intervals.whole_day(start, zone), end)


def _by_calendar(
    text: str, part: str, position: int, anchor: int, months: int, days: int, count: int | None, zone: str
) -> Recurrence:
    """Days, months and years count on the calendar, at the local time of the start."""
    if months and days:
        _refuse(text, "Months with days have no fixed length: use one of them.", position, part)
    ordinal, time = divmod(to_local(load_zone(zone), anchor), 86_400)
    first = date.fromordinal(ordinal + EPOCH_ORDINAL)
    if months and first.day > 28:
        _refuse(text, "Not every month has that day.", position, part)
    calendar = _calendar(first, time, months, days)
    end: datetime | None = None
    if count is not None:
        last = first + timedelta(days=days * (count - 1)) if days else add_months(first, months * (count - 1))
        if last is None:
            _refuse(text, "That is longer than can be scheduled.", position, part)
        end = instant_of(resolve_local(load_zone(zone), day_seconds(last.toordinal()) + time).at)
    # There is one time a day, so the first day bounds the same ticks as the first instant.
    return Recurrence((calendar,), zone, first, end)


def _calendar(first: date, time: int, months: int, days: int) -> Calendar:
    times = Times((time,))
    if days:
        return Calendar(times, (), Step(days, "day", first)) if days > 1 else Calendar(times)
    if months % 12 == 0:
        rule = day_rule(months=(first.month,), days=(first.day,))
        return Calendar(times, (rule,), Step(months // 12, "year", first) if months > 12 else None)
    if 12 % months == 0:
        named = [(first.month - 1 + n * months) % 12 + 1 for n in range(12 // months)]
        return Calendar(times, any_of([day_rule(months=named, days=(first.day,))]))
    return Calendar(times, (day_rule(days=(first.day,)),), Step(months, "month", first))
