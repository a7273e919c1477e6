"""The lines of a recurrence rule, as written: its properties, DTSTART and EXDATE."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import NoReturn

from kairos.schedule import timezones
from kairos.schedule.errors import IntentError
from kairos.schedule.timezones import day_seconds, load_zone, resolve_local_rfc5545

STAMP = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?:T([0-9]{2})([0-9]{2})([0-9]{2})(Z)?)?")
LINE = re.compile(r"[^\r\n]+")
NUMERIC = {"BYHOUR": (0, 23), "BYMINUTE": (0, 59), "BYSECOND": (0, 59), "BYMONTH": (1, 12)}
NUMERIC |= {"BYMONTHDAY": (-31, 31), "BYYEARDAY": (-366, 366), "BYSETPOS": (-366, 366), "BYWEEKNO": (-53, 53)}
WEEKDAYS = {name: number for number, name in enumerate(("MO", "TU", "WE", "TH", "FR", "SA", "SU"))}
BY_DAY = re.compile(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)")
KNOWN = {"FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "WKST", *NUMERIC}


@dataclass
class RuleText:
    """The properties of a rule, as written."""

    text: str
    zone: str
    start: int | None = None  # local seconds
    values: dict[str, tuple[str, int]] = field(default_factory=dict)
    excluded: list[tuple[int, str, int]] = field(default_factory=list)  # instant, as written, where

    def refuse(self, message: str, name: str = "", suggestions: tuple[str, ...] = ()) -> NoReturn:
        value, position = self.values.get(name, (self.text, 0))
        raise IntentError(
            message, text=self.text, position=position, length=len(value), suggestions=suggestions
        )

    def get(self, name: str) -> str | None:
        return self.values[name][0] if name in self.values else None

    def numbers(self, name: str) -> tuple[int, ...]:
        value = self.get(name)
        if value is None:
            return ()
        low, high = NUMERIC[name]
        found = []
        for piece in value.split(","):
            if (
                not re.fullmatch(r"[+-]?[0-9]{1,3}", piece)
                or not low <= int(piece) <= high
                or (low < 0 and int(piece) == 0)
            ):
                self.refuse(f"{piece!r} does not fit {name}.", name)
            found.append(int(piece))
        return tuple(sorted(set(found)))

    def by_day(self) -> tuple[tuple[int, int], ...]:
        """BYDAY as (ordinal, weekday); ordinal 0 stands for every such weekday."""
        found: set[tuple[int, int]] = set()
        for piece in (self.get("BYDAY") or "").split(",") if "BYDAY" in self.values else ():
            match = BY_DAY.fullmatch(piece)
            if match is None or (match[1] and int(match[1]) == 0):
                self.refuse(f"{piece!r} is not a weekday.", "BYDAY")
            found.add((int(match[1] or 0), WEEKDAYS[match[2]]))
        return tuple(sorted(found, key=lambda pair: (pair[0] < 0, pair)))

    def whole(self, name: str) -> int | None:
        value = self.get(name)
        if value is None:
            return None
        if not re.fullmatch(r"[0-9]{1,6}", value) or int(value) == 0:
            self.refuse(f"{name} is a number from 1 up.", name)
        return int(value)


def read_rule(text: str, zone: str) -> RuleText:
    """Read the properties, DTSTART and EXDATE of a rule."""
    rule = RuleText(text, zone)
    date_times: list[DateTimeLine] = []
    for line in LINE.finditer(text):
        _line(rule, line[0], line.start(), date_times)
    for line_of in sorted(date_times, key=lambda each: each.name != "DTSTART"):  # EXDATE is read in its zone
        _read_date_times(rule, line_of)
    return rule


@dataclass(frozen=True)
class DateTimeLine:
    """A line of date-times (DTSTART or EXDATE) with an optional zone."""

    name: str
    zone: str | None
    value: str
    position: int


def _line(rule: RuleText, line: str, position: int, date_times: list[DateTimeLine]) -> None:
    upper = line.strip().upper()
    position += len(line) - len(line.lstrip())
    if upper.startswith(("DTSTART", "EXDATE")):
        name, _, value = line.strip().partition(":")
        zone = None
        if found := re.search(r";TZID=([^;:]+)", name, re.IGNORECASE):
            zone = timezones.find_zone(found[1])
            if zone is None:
                raise IntentError(
                    timezones.unknown_zone(found[1]),
                    text=rule.text,
                    position=position + found.start(1),
                    length=len(found[1]),
                )
        kind = "DTSTART" if upper.startswith("DTSTART") else "EXDATE"
        date_times.append(DateTimeLine(kind, zone, value, position + len(name) + 1))
        return
    body = line.strip()
    if unknown := re.match(r"(?!RRULE)([A-Z-]+)[;:]", upper):
        raise IntentError(
            f"A line {unknown[1]} is not read: give DTSTART, EXDATE and one RRULE.",
            text=rule.text,
            position=position,
            length=len(unknown[1]),
        )
    if upper.startswith("RRULE:"):
        body, position = body[6:], position + 6
    if rule.values:
        raise IntentError(
            "There is more than one RRULE: give one.", text=rule.text, position=position, length=len(body)
        )
    for piece in body.rstrip(";").split(";"):
        name, equals, value = piece.partition("=")
        key = name.strip().upper()
        if not equals or key not in KNOWN or key in rule.values or not value:
            raise IntentError(
                f"{piece!r} is not understood in a recurrence rule.",
                text=rule.text,
                position=position,
                length=len(piece),
            )
        rule.values[key] = (value.strip().upper(), position + len(name) + 1)
        position += len(piece) + 1


def _read_date_times(rule: RuleText, line: DateTimeLine) -> None:
    position = line.position
    for piece in line.value.split(","):
        local, zone = read_stamp(rule, piece.strip(), position, line.zone)
        if line.name == "EXDATE":
            rule.excluded.append((resolve_local_rfc5545(load_zone(zone), local), piece, position))
        elif rule.start is None:
            rule.start, rule.zone = local, zone
        else:
            raise IntentError(
                "There is more than one DTSTART: give one.",
                text=rule.text,
                position=position,
                length=len(piece),
            )
        position += len(piece) + 1


def read_stamp(rule: RuleText, value: str, position: int, zone: str | None = None) -> tuple[int, str]:
    """Local seconds, and the zone they are local to."""
    found = STAMP.fullmatch(value.upper())
    try:
        numbers = [int(found[n] or 0) for n in range(1, 7)] if found else []
        stamp = datetime(*numbers)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        raise IntentError(
            f"{value!r} is not a date-time.", text=rule.text, position=position, length=len(value)
        ) from None
    local = day_seconds(stamp.toordinal()) + stamp.hour * 3600 + stamp.minute * 60 + stamp.second
    return local, "UTC" if found and found[7] else zone or rule.zone
