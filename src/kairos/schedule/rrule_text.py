"""The lines of a recurrence rule, as written: its properties, DTSTART and EXDATE."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import NoReturn

from . import zones
from .errors import IntentError
from .zones import day_seconds, load, place

STAMP = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?:T([0-9]{2})([0-9]{2})([0-9]{2})(Z)?)?")
LINE = re.compile(r"[^\r\n]+")
NUMERIC = {"BYHOUR": (0, 23), "BYMINUTE": (0, 59), "BYSECOND": (0, 59), "BYMONTH": (1, 12)}
NUMERIC |= {"BYMONTHDAY": (-31, 31), "BYYEARDAY": (-366, 366), "BYSETPOS": (-366, 366)}
KNOWN = {"FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "WKST", *NUMERIC}


@dataclass
class Rule:
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

    def whole(self, name: str) -> int | None:
        value = self.get(name)
        if value is None:
            return None
        if not re.fullmatch(r"[0-9]{1,6}", value) or int(value) == 0:
            self.refuse(f"{name} is a number from 1 up.", name)
        return int(value)


def read_rule(text: str, zone: str) -> Rule:
    """The rule of a text, and the instants it names."""
    rule = Rule(text, zone)
    stamps: list[Stamps] = []
    for line in LINE.finditer(text):
        _line(rule, line[0], line.start(), stamps)
    for line_of in sorted(stamps, key=lambda each: each.name != "DTSTART"):  # EXDATE is read in its zone
        _stamp_line(rule, line_of)
    return rule


@dataclass(frozen=True)
class Stamps:
    """A line of date-times: DTSTART or EXDATE, in a zone of its own perhaps."""

    name: str
    zone: str | None
    value: str
    position: int


def _line(rule: Rule, line: str, position: int, stamps: list[Stamps]) -> None:
    upper = line.strip().upper()
    position += len(line) - len(line.lstrip())
    if upper.startswith(("DTSTART", "EXDATE")):
        name, _, value = line.strip().partition(":")
        zone = None
        if found := re.search(r";TZID=([^;:]+)", name, re.IGNORECASE):
            zone = zones.find(found[1])
            if zone is None:
                raise IntentError(
                    f"{found[1]!r} is not a time zone.",
                    text=rule.text,
                    position=position + found.start(1),
                    length=len(found[1]),
                )
        kind = "DTSTART" if upper.startswith("DTSTART") else "EXDATE"
        stamps.append(Stamps(kind, zone, value, position + len(name) + 1))
        return
    body = line.strip()
    if upper.startswith("RRULE:"):
        body, position = body[6:], position + 6
    if rule.values:
        raise IntentError("One rule, please.", text=rule.text, position=position, length=len(body))
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


def _stamp_line(rule: Rule, line: Stamps) -> None:
    position = line.position
    for piece in line.value.split(","):
        local, zone = read_stamp(rule, piece.strip(), position, line.zone)
        if line.name == "EXDATE":
            rule.excluded.append((place(load(zone), local).at, piece, position))
        elif rule.start is None:
            rule.start, rule.zone = local, zone
        else:
            raise IntentError("One DTSTART, please.", text=rule.text, position=position, length=len(piece))
        position += len(piece) + 1


def read_stamp(rule: Rule, value: str, position: int, zone: str | None = None) -> tuple[int, str]:
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
