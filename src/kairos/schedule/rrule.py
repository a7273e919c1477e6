"""RFC 5545 recurrence rules: `FREQ=WEEKLY;BYDAY=MO,WE;BYHOUR=9`, with DTSTART, EXDATE, UNTIL and COUNT."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import islice
from typing import NoReturn

from . import interval, zones
from .errors import IntentError
from .evaluate import ticks
from .normal import any_of, day_rule
from .recurrence import DAY_SECONDS, Calendar, DayRule, Interval, Schedule, Step, Unit, clock
from .rrule_days import days_of
from .zones import day_seconds, instant_of, load, place, to_local

STAMP = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?:T([0-9]{2})([0-9]{2})([0-9]{2})(Z)?)?")
LINE = re.compile(r"[^\r\n]+")
UNITS: dict[str, Unit] = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
SECONDS = {"SECONDLY": 1, "MINUTELY": 60, "HOURLY": 3600}
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
    excluded: list[date] = field(default_factory=list)

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


def parse(text: str, now: int, zone: str) -> Schedule:
    """Compile a recurrence rule."""
    rule = Rule(text, zone)
    stamps: list[tuple[str, str, int]] = []
    for line in LINE.finditer(text):
        _line(rule, line[0], line.start(), stamps)
    for kind, value, position in stamps:
        _stamp_line(rule, kind, value, position)
    frequency = rule.get("FREQ")
    if frequency is None:
        rule.refuse("A rule needs FREQ.", suggestions=("FREQ=DAILY;BYHOUR=9;BYMINUTE=0",))
    every = _whole(rule, "INTERVAL") or 1
    if frequency in SECONDS:
        schedule = _sub_daily(rule, SECONDS[frequency], every, now)
    elif frequency in UNITS:
        schedule = _daily_or_longer(rule, frequency, every, now)
    else:
        rule.refuse(f"{frequency!r} is not a frequency.", "FREQ")
    return _bounded(rule, schedule, now)


def _line(rule: Rule, line: str, position: int, stamps: list[tuple[str, str, int]]) -> None:
    upper = line.strip().upper()
    position += len(line) - len(line.lstrip())
    if upper.startswith(("DTSTART", "EXDATE")):
        name, _, value = line.strip().partition(":")
        if found := re.search(r";TZID=([^;:]+)", name, re.IGNORECASE):
            zone = zones.find(found[1])
            if zone is None or (rule.start is not None and zone != rule.zone):
                raise IntentError(
                    f"{found[1]!r} is not a time zone that fits here.",
                    text=rule.text,
                    position=position + found.start(1),
                    length=len(found[1]),
                )
            rule.zone = zone
        stamps.append((upper[:6], value, position + len(name) + 1))
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


def _stamp_line(rule: Rule, kind: str, value: str, position: int) -> None:
    for piece in value.split(","):
        local, zone = _stamp(rule, piece.strip(), position)
        if kind == "DTSTAR":
            if rule.start is not None:
                raise IntentError(
                    "One DTSTART, please.", text=rule.text, position=position, length=len(piece)
                )
            rule.start, rule.zone = local, zone
        else:
            rule.excluded.append(date.fromordinal(local // DAY_SECONDS + zones.EPOCH_ORDINAL))


def _stamp(rule: Rule, value: str, position: int) -> tuple[int, str]:
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
    return local, "UTC" if found and found[7] else rule.zone


def _whole(rule: Rule, name: str) -> int | None:
    value = rule.get(name)
    if value is None:
        return None
    if not re.fullmatch(r"[0-9]{1,6}", value) or int(value) == 0:
        rule.refuse(f"{name} is a number from 1 up.", name)
    return int(value)


def _sub_daily(rule: Rule, unit: int, every: int, now: int) -> Schedule:
    step = unit * every
    by_clock = {name for name in ("BYHOUR", "BYMINUTE", "BYSECOND", "BYSETPOS") if name in rule.values}
    allowed = {3600: {"BYMINUTE", "BYSECOND"}, 60: {"BYSECOND"}}.get(step, set())
    if by_clock - allowed:
        rule.refuse("These do not go with that frequency here.", min(by_clock - allowed))
    days = days_of(rule, None)
    info = load(rule.zone)
    start = place(info, rule.start).at if rule.start is not None else None
    if by_clock:
        minutes = rule.numbers("BYMINUTE") or (
            interval.ALL if step == 60 else ((rule.start or 0) // 60 % 60,)
        )
        seconds = rule.numbers("BYSECOND") or ((rule.start or 0) % 60,)
        bound = interval.whole_day(instant_of(start), rule.zone) if start is not None else None
        return Schedule((Calendar(clock(None, minutes, seconds), days),), rule.zone, bound)
    if days and not interval.divides_hour(step):
        rule.refuse("An interval that does not divide the hour cannot be limited to days.", "INTERVAL")
    if start is None:
        plain = interval.plain(step, now, rule.zone)
        if isinstance(plain, Calendar):
            plain = Calendar(plain.times, days)
        return Schedule((plain,), rule.zone)
    made, bound_at = interval.anchored(step, start, rule.zone)
    if isinstance(made, Calendar):
        made = Calendar(made.times, days)
    return Schedule((made,), rule.zone, interval.whole_day(bound_at, rule.zone))


def _daily_or_longer(rule: Rule, frequency: str, every: int, now: int) -> Schedule:
    start_time = rule.start % DAY_SECONDS if rule.start is not None else None
    if start_time is None and rule.get("BYHOUR") is None:
        rule.refuse(
            "At what time of day? Add BYHOUR, or DTSTART.",
            suggestions=(f"{rule.text.strip().rstrip(';')};BYHOUR=9;BYMINUTE=0",),
        )
    hours = rule.numbers("BYHOUR") or ((start_time or 0) // 3600,)
    minutes = rule.numbers("BYMINUTE") or ((start_time or 0) // 60 % 60,)
    seconds = rule.numbers("BYSECOND") or ((start_time or 0) % 60,)
    first = None
    if rule.start is not None:
        first = date.fromordinal(rule.start // DAY_SECONDS + zones.EPOCH_ORDINAL)
    calendar = Calendar(clock(hours, minutes, seconds), days_of(rule, first, frequency))
    bound = _start_bound(rule)
    if every == 1:
        _check_first(rule, calendar, bound)
        return Schedule((calendar,), rule.zone, bound)
    if frequency == "WEEKLY":
        _check_week_start(rule, calendar.days)
    if frequency == "MONTHLY" and 12 % every == 0 and not any(day.months for day in calendar.days):
        month = first.month if first else 1
        months = [(month - 1 + n * every) % 12 + 1 for n in range(12 // every)]
        named = [
            day_rule(months=months, days=d.days, weekdays=d.weekdays, nth=d.nth, business=d.business)
            for d in calendar.days
        ]
        return Schedule((Calendar(calendar.times, any_of(named)),), rule.zone, bound)
    probe = Schedule((calendar,), rule.zone, bound)
    tick = next(ticks(probe, instant_of(now if bound is None else -62_000_000_000)), None)
    if tick is None:
        rule.refuse("This would never fire.")
    anchor = tick.astimezone(load(rule.zone)).date()
    if first is not None and anchor != first:
        rule.refuse("DTSTART is not the first instance of this rule.", "INTERVAL")
    return Schedule(
        (Calendar(calendar.times, calendar.days, Step(every, UNITS[frequency], anchor)),), rule.zone, anchor
    )


def _start_bound(rule: Rule) -> date | datetime | None:
    """The start; a whole day where there is one time a day, since that says as much."""
    if rule.start is None:
        return None
    if any(name in rule.values for name in ("BYHOUR", "BYMINUTE", "BYSECOND")):
        return interval.whole_day(instant_of(place(load(rule.zone), rule.start).at), rule.zone)
    return date.fromordinal(rule.start // DAY_SECONDS + zones.EPOCH_ORDINAL)


def _check_first(rule: Rule, calendar: Calendar, bound: date | datetime | None) -> None:
    """The RFC counts DTSTART as an instance even where the rule does not: refused, since some do and some do not."""
    if rule.start is None:
        return
    info = load(rule.zone)
    at = place(info, rule.start).at
    first = next(ticks(Schedule((calendar,), rule.zone, bound), instant_of(at - 1)), None)
    if first is None or to_local(info, int(first.timestamp())) != to_local(info, at):
        rule.refuse("DTSTART is not an instance of this rule: some count it, some do not.", "FREQ")


def _check_week_start(rule: Rule, days: tuple[DayRule, ...]) -> None:
    named = {day for one in days for day in one.weekdays}
    if rule.get("WKST") not in (None, "MO") and len(named) > 1:
        rule.refuse("Weeks begin on Monday here.", "WKST")


def _bounded(rule: Rule, schedule: Schedule, now: int) -> Schedule:
    end: date | datetime | None = None
    count, until = _whole(rule, "COUNT"), rule.get("UNTIL")
    if count is not None and until is not None:
        rule.refuse("COUNT and UNTIL exclude each other.", "COUNT")
    if until is not None:
        end = _until(rule, until)
    exceptions = tuple(dict.fromkeys(day_rule(dates=(day,)) for day in rule.excluded))
    if count is not None:
        if count > 10_000:
            rule.refuse("COUNT goes up to 10000.", "COUNT")
        only = schedule.rules[0]
        anchored = schedule.start is not None or isinstance(only, Interval)
        since = -62_000_000_000 if anchored else now
        if isinstance(only, Interval) and rule.start is None:
            since = now
        end = list(islice(ticks(schedule, instant_of(since)), count))[-1]
    return Schedule(schedule.rules, schedule.zone, schedule.start, end, exceptions)


def _until(rule: Rule, until: str) -> date | datetime:
    position = rule.values["UNTIL"][1]
    local, zone = _stamp(rule, until, position)
    if "T" not in until:
        return date.fromordinal(local // DAY_SECONDS + zones.EPOCH_ORDINAL)
    at = instant_of(place(load(zone), local).at)
    day = at.astimezone(load(rule.zone)).date()
    last = place(load(rule.zone), day_seconds((day + timedelta(days=1)).toordinal())).at - 1
    return day if instant_of(last) == at else at
