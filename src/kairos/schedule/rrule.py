"""RFC 5545 recurrence rules: `FREQ=WEEKLY;BYDAY=MO,WE;BYHOUR=9`, with DTSTART, EXDATE, UNTIL and COUNT."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from itertools import islice

from . import interval, zones
from .errors import IntentError
from .evaluate import ticks
from .normal import any_of, day_rule
from .recurrence import DAY_SECONDS, Calendar, DayRule, Interval, Schedule, Step, Unit, clock
from .rrule_days import WEEKDAYS, days_of
from .rrule_text import Rule, read_rule, read_stamp
from .zones import day_seconds, instant_of, load, place, seconds_of, to_local

UNITS: dict[str, Unit] = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
SECONDS = {"SECONDLY": 1, "MINUTELY": 60, "HOURLY": 3600}


def parse(text: str, now: int, zone: str) -> Schedule:
    """Compile a recurrence rule."""
    rule = read_rule(text, zone)
    frequency = rule.get("FREQ")
    if frequency is None:
        rule.refuse("A rule needs FREQ.", suggestions=("FREQ=DAILY;BYHOUR=9;BYMINUTE=0",))
    every = rule.whole("INTERVAL") or 1
    if frequency in SECONDS:
        schedule = _sub_daily(rule, SECONDS[frequency], every, now)
    elif frequency in UNITS:
        schedule = _daily_or_longer(rule, frequency, every, now)
    else:
        rule.refuse(f"{frequency!r} is not a frequency.", "FREQ")
    return _bounded(rule, schedule, now)


def _sub_daily(rule: Rule, unit: int, every: int, now: int) -> Schedule:
    step = unit * every
    by_clock = {name for name in ("BYHOUR", "BYMINUTE", "BYSECOND", "BYSETPOS") if name in rule.values}
    allowed = {3600: {"BYMINUTE", "BYSECOND"}, 60: {"BYSECOND"}}.get(step, set())
    if unit > 1 and 3600 % step == 0:
        allowed = allowed | {"BYHOUR"}
    if by_clock - allowed:
        rule.refuse("These do not go with that frequency here.", min(by_clock - allowed))
    days = days_of(rule, None)
    info = load(rule.zone)
    start = place(info, rule.start).at if rule.start is not None else None
    if by_clock:
        phase = (rule.start or 0) // 60 % (step // 60)
        minutes = rule.numbers("BYMINUTE") or tuple(range(phase, 60, step // 60))
        seconds = rule.numbers("BYSECOND") or ((rule.start or 0) % 60,)
        bound = interval.whole_day(instant_of(start), rule.zone) if start is not None else None
        calendar = Calendar(clock(rule.numbers("BYHOUR") or None, minutes, seconds), days)
        _check_first(rule, calendar, bound)
        return Schedule((calendar,), rule.zone, bound)
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
    _check_first(rule, calendar, bound)
    if every == 1:
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
        (Calendar(calendar.times, calendar.days, Step(every, UNITS[frequency], anchor)),),
        rule.zone,
        bound or anchor,
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
    if first is not None and to_local(info, seconds_of(first)) == to_local(info, at):
        return
    others = [each for each in rule.excluded if each[0] != at]
    if len(others) == len(rule.excluded) or rule.get("COUNT") is not None:
        rule.refuse("DTSTART is not an instance of this rule: some count it, some do not.", "FREQ")
    rule.excluded = others  # EXDATE says that it does not count


def _check_week_start(rule: Rule, days: tuple[DayRule, ...]) -> None:
    """Weeks begin on Monday here: the same, unless another beginning would part the days that are named."""
    begins = WEEKDAYS.get(rule.get("WKST") or "MO")
    if begins is None:
        rule.refuse("That is not a weekday.", "WKST")
    if len({day >= begins for one in days for day in one.weekdays}) > 1:
        rule.refuse("Weeks begin on Monday here.", "WKST")


def _bounded(rule: Rule, schedule: Schedule, now: int) -> Schedule:
    end: date | datetime | None = None
    count, until = rule.whole("COUNT"), rule.get("UNTIL")
    if count is not None and until is not None:
        rule.refuse("COUNT and UNTIL exclude each other.", "COUNT")
    if until is not None:
        end = _until(rule, until, schedule)
    exceptions = _exceptions(rule, schedule)
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


def _exceptions(rule: Rule, schedule: Schedule) -> tuple[DayRule, ...]:
    """The days left out; what is left out must be a tick, and the only one of its day."""
    info = load(rule.zone)
    days: list[date] = []
    for at, written, position in rule.excluded:
        midnight = to_local(info, at) // DAY_SECONDS * DAY_SECONDS
        since, until = (place(info, midnight + ahead).at for ahead in (0, DAY_SECONDS))
        coming = islice(ticks(schedule, instant_of(since - 1)), 2)
        if [tick for tick in coming if seconds_of(tick) < until] != [instant_of(at)]:
            raise IntentError(
                "EXDATE names no tick of this rule, or one of several on its day.",
                text=rule.text,
                position=position,
                length=len(written),
            )
        days.append(date.fromordinal(midnight // DAY_SECONDS + zones.EPOCH_ORDINAL))
    return tuple(dict.fromkeys(day_rule(dates=(day,)) for day in days))


def _until(rule: Rule, until: str, schedule: Schedule) -> date | datetime:
    position = rule.values["UNTIL"][1]
    local, zone = read_stamp(rule, until, position)
    if "T" not in until:
        midnight = place(load(rule.zone), local).at
        after = next(ticks(schedule, instant_of(midnight)), None)
        if after is not None and to_local(load(rule.zone), seconds_of(after)) < local + DAY_SECONDS:
            rule.refuse("Is that day included? Add a time to UNTIL.", "UNTIL")
        return date.fromordinal(local // DAY_SECONDS + zones.EPOCH_ORDINAL)
    at = instant_of(place(load(zone), local).at)
    day = at.astimezone(load(rule.zone)).date()
    last = place(load(rule.zone), day_seconds((day + timedelta(days=1)).toordinal())).at - 1
    return day if instant_of(last) == at else at
