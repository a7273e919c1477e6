"""Schedules in normal form, generated."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from hypothesis import assume
from hypothesis import strategies as st

from kairos.schedule.plan.days import DayFinder
from kairos.schedule.plan.intervals import divides_hour, whole_day
from kairos.schedule.plan.normal_form import any_of, day_rule, merged
from kairos.schedule.plan.recurrence import (
    Calendar,
    DayRule,
    Grid,
    Hourly,
    Interval,
    Once,
    Recurrence,
    Step,
    Times,
    Window,
    clock,
)

ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Pacific/Apia",
    "Africa/Casablanca",
    "Asia/Kathmandu",
    "Asia/Kolkata",
    "America/St_Johns",
    "Pacific/Chatham",
    "America/Havana",
    "Asia/Tehran",
    "UTC+05:30",
]

zones = st.sampled_from(ZONES)
instants = st.datetimes(datetime(2000, 1, 1), datetime(2037, 12, 31)).map(
    lambda at: at.replace(microsecond=0, tzinfo=UTC)
)
dates = st.dates(date(2000, 1, 1), date(2037, 12, 31))


def some(low: int, high: int, most: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.sets(st.integers(low, high), min_size=1, max_size=most).map(lambda found: tuple(sorted(found)))


months = st.one_of(st.just(()), some(1, 12, 11))
ordinals = st.integers(1, 5) | st.integers(-4, -1)


@st.composite
def day_rules(draw: st.DrawFn) -> DayRule:
    within = draw(months)
    kind = draw(st.sampled_from(["weekdays", "days", "nth", "business", "nearest", "both", "year", "months"]))
    if kind == "weekdays":
        return day_rule(months=within, weekdays=draw(some(0, 6, 6)))
    if kind == "days":
        return day_rule(
            months=within,
            days=draw(st.sets(st.integers(1, 31) | st.integers(-4, -1), min_size=1, max_size=6)),
        )
    if kind == "nth":
        pairs = st.tuples(ordinals, st.integers(0, 6))
        return day_rule(months=within, nth=draw(st.sets(pairs, min_size=1, max_size=3)))
    if kind == "business":
        return day_rule(
            months=within,
            business=draw(st.sets(st.integers(1, 20) | st.integers(-20, -1), min_size=1, max_size=2)),
        )
    if kind == "nearest":
        return day_rule(months=within, nearest=[draw(st.integers(1, 28))])
    if kind == "both":
        return day_rule(months=within, weekdays=draw(some(0, 6, 3)), days=draw(some(1, 28, 3)))
    if kind == "year":
        return day_rule(year_days=[draw(st.integers(32, 365))])
    return day_rule(months=draw(some(1, 12, 11)))


@st.composite
def times(draw: st.DrawFn) -> Times | Grid | Hourly:
    kind = draw(st.sampled_from(["list", "grid", "hourly"]))
    if kind == "list":
        return Times(
            draw(some(0, 86_399, 4) | some(0, 23, 4).map(lambda hours: tuple(h * 3600 for h in hours)))
        )
    hours, minutes, seconds = draw(some(0, 23, 8)), draw(some(0, 59, 8)), draw(st.just((0,)) | some(0, 59, 2))
    return clock(hours, minutes, seconds) if kind == "grid" else Hourly(minutes, seconds)


@st.composite
def windows(draw: st.DrawFn, over_midnight: bool) -> Window:
    opens = draw(st.integers(0, 23 * 60)) * 60
    closes = draw(st.integers(0, 1_439)) * 60
    if closes < opens and not over_midnight:
        opens, closes = closes, opens
    if closes == opens:
        closes = opens + 60
    length = (closes - opens) % 86_400
    every = draw(st.integers(1, max(1, length // 60))) * 60
    # “every 7 minutes until 02:59” is refused, since descriptions of cron expressions use it for something else.
    assume(every >= 3600 or divides_hour(every) or closes % 3600 != 59 * 60)
    return Window(opens, closes, every)


@st.composite
def calendars(draw: st.DrawFn) -> Calendar:
    days = any_of(draw(st.lists(day_rules(), max_size=2)))
    if len(days) > 1 and any(rule == DayRule(months=rule.months) for rule in days):
        days = days[:1]
    if draw(st.booleans()) and draw(st.booleans()):
        return Calendar(draw(windows(over_midnight=not days)), days)
    return Calendar(draw(times()), days)


@st.composite
def stepped(draw: st.DrawFn) -> tuple[Calendar, date]:
    """A rule that counts every n-th from its first match."""
    start, unit = draw(dates), draw(st.sampled_from(["day", "week", "month", "year"]))
    every = draw(st.integers(2, 40)) if unit != "month" else draw(st.sampled_from([5, 7, 9, 18, 24]))
    at = Times(draw(some(0, 86_399, 3)))
    if unit == "day":
        days: tuple[DayRule, ...] = ()
    elif unit == "week":
        chosen = draw(some(0, 5, 3) | st.just((6,)) | st.just((5, 6)))
        days = (day_rule(weekdays=chosen),)
    elif unit == "month":
        days = (draw(st.sampled_from([day_rule(days=[4]), day_rule(nth=[(1, 0)]), day_rule(business=[-1])])),)
    else:
        days = (day_rule(months=[draw(st.integers(1, 12))], days=[draw(st.integers(1, 28))]),)
    anchor = DayFinder(Calendar(at, days), (), ()).first(start)
    assert anchor is not None
    return Calendar(at, days, Step(every, unit, anchor)), anchor


exceptions = st.lists(
    st.one_of(
        dates.map(lambda day: day_rule(dates=[day])),
        some(0, 6, 3).map(lambda found: day_rule(weekdays=found)),
        some(1, 12, 5).map(lambda found: day_rule(months=found)),
        st.tuples(st.integers(1, 12), some(1, 28, 3)).map(
            lambda both: day_rule(months=[both[0]], days=both[1])
        ),
        st.tuples(dates, st.integers(0, 40)).map(
            lambda both: DayRule(span=(both[0], both[0] + timedelta(days=both[1])))
        ),
        st.tuples(ordinals, st.integers(0, 6)).map(lambda pair: day_rule(nth=[pair])),
    ),
    max_size=2,
)


@st.composite
def schedules(draw: st.DrawFn) -> Recurrence:
    """Any schedule in normal form, whether or not it ever fires."""
    zone = draw(zones)
    kind = draw(st.sampled_from(["once", "interval", "calendar", "calendar", "stepped"]))
    if kind == "once":
        return Recurrence((Once(draw(instants)),), zone)
    end = draw(
        st.none()
        | dates.map(lambda day: day + timedelta(days=20_000))
        | st.just(datetime(2090, 5, 1, 9, tzinfo=UTC))
    )
    gone = merged(draw(exceptions))
    if kind == "interval":
        seconds = draw(st.integers(1, 200_000).filter(lambda length: not divides_hour(length)))
        return Recurrence((Interval(seconds, draw(instants)),), zone, None, end, gone)
    if kind == "stepped":
        rule, anchor = draw(stepped())
        return Recurrence((rule,), zone, anchor, end, gone)
    calendar = draw(calendars())
    start = whole_day(draw(st.none() | dates | instants), zone)
    if isinstance(calendar.times, Window):
        gone, start = (), None if isinstance(start, datetime) else start
    return Recurrence((calendar,), zone, start, end, gone)
