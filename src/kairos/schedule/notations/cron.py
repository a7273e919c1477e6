"""Cron: five fields, or six with seconds first; names, steps, `L`, `#`, `W` and the @ macros.

If both day fields are restricted, a day matches if either does, as in cron. With `*` as the hour, the rule fires in
every hour that passes, also in the one that daylight saving repeats.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from kairos.schedule import timezones
from kairos.schedule.english import vocabulary
from kairos.schedule.errors import IntentError
from kairos.schedule.plan.normal_form import any_of, day_rule
from kairos.schedule.plan.recurrence import Calendar, DayRule, Recurrence, clock

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
MONTH_NAMES = {name[:3].lower(): number for number, name in enumerate(vocabulary.MONTH_NAMES, 1)}
DAY_NAMES = {name[:3]: (number + 1) % 7 for number, name in enumerate(vocabulary.WEEKDAY_NAMES)}
NUMBER = re.compile(r"[0-9]{1,2}")
ZONE_PREFIX = re.compile(r"\s*(?:CRON_TZ|TZ)=(\S+)\s+")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the text with its allowed range."""

    name: str
    low: int
    high: int
    text: str
    position: int
    whole: str
    names: dict[str, int] | None = None

    def refuse(self, reason: str, suggestions: tuple[str, ...] = ()) -> NoReturn:
        raise IntentError(
            f"The {self.name} field of this cron expression cannot be {self.text!r}: {reason}.",
            text=self.whole,
            position=self.position,
            length=len(self.text),
            suggestions=suggestions,
        )

    @property
    def star(self) -> bool:
        return self.text in ("*", "?", "*/1")


def parse(text: str, zone: str) -> Recurrence:
    """Compile a cron expression."""
    tokens = [(found[0], found.start()) for found in re.finditer(r"\S+", text)]
    if (prefix := ZONE_PREFIX.match(text)) is not None:
        zone = _zone(text, prefix[1], prefix.start(1))
        tokens = tokens[1:]
    if tokens and tokens[0][0].startswith("@"):
        return _macro(text, tokens, zone)
    if len(tokens) > 5 and re.fullmatch(r"[A-Za-z_]+/[A-Za-z_+\-0-9/]+|UTC|GMT", tokens[-1][0]):
        zone = _zone(text, *tokens[-1])
        tokens = tokens[:-1]
    return Recurrence((_calendar(text, tokens),), zone)


def _macro(text: str, tokens: list[tuple[str, int]], zone: str) -> Recurrence:
    name, position = tokens[0]
    if name.lower() not in MACROS:
        suggestions = ("every 5 minutes",) if name.lower() == "@every" else ("@hourly", "@daily")
        reason = (
            "there is no start of a machine to hang it on" if name.lower() == "@reboot" else "no such macro"
        )
        raise IntentError(
            f"{name} is not understood: {reason}.",
            text=text,
            position=position,
            length=len(name),
            suggestions=suggestions,
        )
    if len(tokens) > 1:
        zone = _zone(text, *tokens[1])
        if len(tokens) > 2:
            raise IntentError(
                "Nothing may follow the macro and its zone.",
                text=text,
                position=tokens[2][1],
                length=len(tokens[2][0]),
            )
    expanded = MACROS[name.lower()]
    return Recurrence(
        (_calendar(expanded, [(found[0], found.start()) for found in re.finditer(r"\S+", expanded)]),), zone
    )


def _zone(text: str, name: str, position: int) -> str:
    found = timezones.find_zone(name)
    if found is None:
        raise IntentError(timezones.unknown_zone(name), text=text, position=position, length=len(name))
    return found


def _calendar(text: str, tokens: list[tuple[str, int]]) -> Calendar:
    if len(tokens) not in (5, 6):
        raise IntentError(
            f"A cron expression has 5 fields, or 6 with seconds first; this has {len(tokens)}.",
            text=text,
            position=tokens[-1][1] if len(tokens) > 6 else 0,
            length=len(tokens[-1][0]) if len(tokens) > 6 else len(text),
            suggestions=("0 9 * * 1-5", "every weekday at 09:00"),
        )
    (second, at), *rest = tokens if len(tokens) == 6 else [("0", 0), *tokens]
    seconds = _numbers(Field("second", 0, 59, second, at, text))
    minutes = _numbers(Field("minute", 0, 59, *rest[0], text))
    hour = Field("hour", 0, 23, *rest[1], text)
    day = Field("day-of-month", 1, 31, *rest[2], text)
    months = _numbers(Field("month", 1, 12, *rest[3], text, MONTH_NAMES))
    weekday = Field("day-of-week", 0, 7, *rest[4], text, DAY_NAMES)
    for field in (hour, day, weekday):
        if "?" in field.text and (field is hour or field.text != "?"):
            field.refuse("`?` stands alone, and only in a day field")
    times = clock(None if hour.star else _numbers(hour), minutes, seconds)
    return Calendar(times, _days(day, weekday, months))


def _days(day: Field, weekday: Field, months: tuple[int, ...]) -> tuple[DayRule, ...]:
    by_day, by_weekday = _month_days(day, months), _weekdays(weekday, months)
    if day.text == "?" and re.search("[0-9]", weekday.text.split("#")[0]):
        weekday.refuse(
            "next to `?` a number may count from Sunday = 1 (Quartz) or Monday = 1 (cron); write a name"
        )
    if day.text == weekday.text == "?":
        weekday.refuse(
            "`?` leaves the day to the other day field, and both have it; write `*` in one",
            (day.whole[: weekday.position] + "*" + day.whole[weekday.position + 1 :],),
        )
    if day.star or weekday.star:
        return any_of([by_weekday if day.star else by_day])
    for field in (day, weekday):
        if field.text.startswith("*"):
            field.refuse(
                "with both day fields given some crons take a step of `*` as AND, some as OR; list the days"
            )
    return any_of([by_day, by_weekday])


def _month_days(field: Field, months: tuple[int, ...]) -> DayRule:
    if field.star:
        return day_rule(months=months)
    upper = field.text.upper()
    if upper in ("LW", "WL"):
        return day_rule(months=months, business=(-1,))
    if (nearest := re.fullmatch(r"([0-9]{1,2})W", upper)) is not None:
        return day_rule(months=months, nearest=(_within(field, int(nearest[1])),))
    numbers: list[int] = []
    plain: list[str] = []
    for part in upper.split(","):
        if (last := re.fullmatch(r"L(?:-([0-9]{1,2}))?", part)) is not None:
            if int(last[1] or 0) > 30:
                field.refuse("no month is that long")
            numbers.append(-1 - int(last[1] or 0))
        else:
            plain.append(part)
    if plain:
        numbers.extend(_numbers(field, plain))
    return day_rule(months=months, days=numbers)


def _weekdays(field: Field, months: tuple[int, ...]) -> DayRule:
    if field.star:
        return day_rule(months=months)
    nth: list[tuple[int, int]] = []
    plain: list[str] = []
    for part in field.text.split(","):
        if (hashed := re.fullmatch(r"([0-7]|[A-Za-z]{3})#([1-5])", part)) is not None:
            nth.append((int(hashed[2]), (_number(field, hashed[1]) - 1) % 7))
        elif (last := re.fullmatch(r"([0-7])L", part, re.IGNORECASE)) is not None:
            nth.append((-1, (int(last[1]) - 1) % 7))
        else:
            plain.append(part)
    if plain and nth:
        field.refuse("`#` and `L` do not mix with plain weekdays here")
    if nth:
        return day_rule(months=months, nth=nth)
    return day_rule(months=months, weekdays={(number - 1) % 7 for number in _numbers(field, plain)})


def _numbers(field: Field, parts: list[str] | None = None) -> tuple[int, ...]:
    found: set[int] = set()
    for part in parts if parts is not None else field.text.split(","):
        found.update(_range(field, part))
    return tuple(sorted(found))


def _range(field: Field, part: str) -> range:
    top = 6 if field.high == 7 else field.high
    span, slash, step_text = part.partition("/")
    step = 1
    if slash:
        if not NUMBER.fullmatch(step_text) or int(step_text) == 0:
            field.refuse("a step is a number from 1 up")
        step = int(step_text)
        if step > field.high - field.low + 1:
            field.refuse("the step is longer than the field, so it would not mean what it says")
    if span == "*":
        return range(field.low, top + 1, step)
    low_text, dash, high_text = span.partition("-")
    low = _number(field, low_text)
    high = _number(field, high_text) if dash else top if slash else low
    if high < low:
        field.refuse("the range runs backwards")
    return range(low, high + 1, step)


def _number(field: Field, text: str) -> int:
    named = (field.names or {}).get(text.lower())
    if named is not None:
        return named
    if not NUMBER.fullmatch(text):
        field.refuse(
            f"{text!r} is not a number from {field.low} to {field.high}" if text else "a value is missing"
        )
    return _within(field, int(text))


def _within(field: Field, number: int) -> int:
    if not field.low <= number <= field.high:
        field.refuse(f"{number} is not from {field.low} to {field.high}")
    return number
