"""Cron against cronsim, and against a clock that is simply watched minute by minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

from cronsim import CronSim
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.intent.tables import NOW, instant, instants

from kairos.schedule import IntentError, when

ZONES = [
    "UTC",
    "Europe/Berlin",
    "Europe/London",
    "Europe/Riga",
    "Europe/Moscow",
    "Europe/Istanbul",
    "Atlantic/Azores",
    "Africa/Casablanca",
    "Africa/Cairo",
    "America/New_York",
    "America/Chicago",
    "America/St_Johns",
    "America/Sao_Paulo",
    "America/Havana",
    "America/Caracas",
    "Asia/Amman",
    "Asia/Tehran",
    "Asia/Kathmandu",
    "Asia/Kolkata",
    "Asia/Pyongyang",
    "Asia/Tokyo",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "Pacific/Apia",
    "Pacific/Auckland",
    "Pacific/Chatham",
]


def field(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    # Not 5-5: cronsim reads a step of it as a step to the end of the field.
    pairs = st.tuples(number, number).filter(lambda pair: pair[0] < pair[1])
    ranges = pairs.map(lambda pair: f"{pair[0]}-{pair[1]}")
    steps = st.integers(2, (high - low + 1) // 2)
    return st.one_of(
        number.map(str),
        st.lists(number, min_size=1, max_size=4).map(lambda found: ",".join(map(str, found))),
        ranges,
        st.tuples(ranges, steps).map(lambda both: f"{both[0]}/{both[1]}"),
        steps.map(lambda step: f"*/{step}"),
    )


def or_star(strategy: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.just("*") | strategy


days = st.one_of(
    st.tuples(or_star(field(1, 28) | st.sampled_from(["L", "LW", "31", "30"])), st.just("*")),
    st.tuples(st.just("*"), field(0, 6) | st.sampled_from(["MON-FRI", "7", "5#2", "SUN#1", "1#5", "5L"])),
    st.tuples(
        field(1, 28).filter(lambda text: text[0] != "*"), field(0, 6).filter(lambda text: text[0] != "*")
    ),
)
expressions = st.tuples(or_star(field(0, 59)), or_star(field(0, 23)), days, or_star(field(1, 12))).map(
    lambda parts: f"{parts[0]} {parts[1]} {parts[2][0]} {parts[3]} {parts[2][1]}"
)
moments = st.datetimes(datetime(2000, 1, 1), datetime(2037, 1, 1)).map(
    lambda at: at.replace(microsecond=0, tzinfo=UTC)
)


def steady(zone: ZoneInfo, at: datetime) -> bool:
    """Whether no clock change is within two days: cronsim and Kairos state different policies there."""
    return (
        len({(at + timedelta(hours=hours)).astimezone(zone).utcoffset() for hours in range(-48, 49, 6)}) == 1
    )


@settings(max_examples=300, deadline=None)
@given(expressions, st.sampled_from(ZONES), moments)
def test_away_from_clock_changes_it_agrees_with_cronsim(expression, name, after):
    zone = ZoneInfo(name)
    try:
        plan = when(expression, now=after, tz=name)
    except IntentError as refusal:
        assume("never fire" not in refusal.message)
        raise
    oracle = [tick.astimezone(UTC) for tick in islice(CronSim(expression, after.astimezone(zone)), 20)]
    ours = plan.ticks(after=after, limit=20)
    horizon = min(oracle[-1], ours[-1])
    agreed = [tick for tick in ours if tick <= horizon and steady(zone, tick)]
    assert agreed == [tick for tick in oracle if tick <= horizon and steady(zone, tick)]


@settings(max_examples=120, deadline=None)
@given(
    or_star(field(0, 59)),
    field(0, 23) | st.just("*"),
    st.sampled_from(ZONES),
    st.integers(2005, 2036),
    st.data(),
)
def test_through_clock_changes_it_is_what_a_watcher_of_the_clock_would_do(minute, hour, name, year, data):
    """Watch the wall clock for two days around a change and apply the stated policy by hand."""
    assume(changes(name, year))
    change = data.draw(st.sampled_from(changes(name, year)))
    start, end = change - timedelta(hours=26), change + timedelta(hours=26)
    plan = when(f"{minute} {hour} * * *", now=start, tz=name)
    assert plan.between(start, end) == watched(
        ZoneInfo(name), numbers(minute, 59), numbers(hour, 23), hour, start, end
    )


@lru_cache(maxsize=1_000)
def changes(name: str, year: int) -> tuple[datetime, ...]:
    """The hours of a year in which the offset of a zone changes."""
    zone = ZoneInfo(name)

    def offset(at: datetime) -> timedelta | None:
        return at.astimezone(zone).utcoffset()

    days = [datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(366)]
    hours = [
        day + timedelta(hours=n)
        for day, after in pairwise(days)
        if offset(day) != offset(after)
        for n in range(24)
    ]
    return tuple(hour for hour in hours if offset(hour) != offset(hour + timedelta(hours=1)))


def numbers(text: str, high: int) -> set[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        low, _, top = (f"0-{high}" if span == "*" else span).partition("-")
        found.update(range(int(low), int(top or low) + 1, int(step or 1)))
    return found


def watched(zone, minutes, hours, hour, start, end):
    fired: list[datetime] = []
    seen: set[datetime] = set()
    first = start - timedelta(hours=3)
    shown = first.astimezone(zone).replace(tzinfo=None)
    at = first
    while at <= end:
        at += timedelta(minutes=1)
        wall = at.astimezone(zone).replace(tzinfo=None)
        skipped = (shown + timedelta(minutes=n) for n in range(1, int((wall - shown).total_seconds() // 60)))
        gap = wall - shown - timedelta(minutes=1)
        missed = [
            time
            for time in skipped
            if time.minute in minutes
            and time.hour in hours
            and hour != "*"
            and not (
                (later := time + gap).date() == time.date()
                and later.hour in hours
                and later.minute in minutes
            )
        ]
        due = wall.minute in minutes and wall.hour in hours and (hour == "*" or wall not in seen)
        if (due or missed) and start < at <= end:
            fired.append(at)
        if wall.minute in minutes and wall.hour in hours:
            seen.add(wall)
        shown = max(shown, wall) if wall > shown else wall
    return fired


@settings(max_examples=100, deadline=None)
@given(expressions)
def test_six_fields_with_second_zero_mean_the_same_as_five(expression):
    try:
        five = when(expression, now=NOW)
    except IntentError:
        return
    assert when(f"0 {expression}", now=NOW) == five


def test_seconds_come_first_in_six_fields():
    assert when("*/20 30 9 * * *", now=NOW).ticks(NOW, 4) == instants(
        "2026-01-15T09:30:00Z", "2026-01-15T09:30:20Z", "2026-01-15T09:30:40Z", "2026-01-16T09:30:00Z"
    )


def test_notations_that_mean_the_same_are_the_same():
    same = ["0 9 * * 1-5", "0 9 * * MON-FRI", "0 9 ? * MON-FRI", "0 0 9 * * 1,2,3,4,5", "Mon..Fri 09:00"]
    same += [
        "every weekday at 9am",
        "weekdays at 09:00",
        "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9;BYMINUTE=0",
    ]
    assert len({when(text, now=NOW) for text in same}) == 1
    assert when("*/15 * * * *", now=NOW) == when("every 15 minutes", now=NOW) == when("*:0/15", now=NOW)


def test_a_zone_may_lead_or_follow():
    expected = when("0 9 * * *", now=NOW, tz="Asia/Tokyo")
    assert when("CRON_TZ=Asia/Tokyo 0 9 * * *", now=NOW) == expected
    assert when("TZ=Asia/Tokyo 0 9 * * *", now=NOW) == expected
    assert when("0 9 * * * Asia/Tokyo", now=NOW) == expected


def test_the_search_for_a_rare_day_is_bounded():
    assert when("0 0 29 2 1", now=NOW).ticks(NOW, 1) == [instant("2026-02-02T00:00:00Z")]
    assert when("Mon *-02-29 00:00", now=NOW).ticks(NOW, 1) == [instant("2044-02-29T00:00:00Z")]
