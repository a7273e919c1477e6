"""Where the clocks jump: a skipped time fires at the first valid instant, a repeated one once."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest
from tests.intent.tables import instant, instants

from kairos.schedule import IntentError, when

MICROSECOND = timedelta(microseconds=1)
SECOND = timedelta(seconds=1)

# zone, intent, just before, the instants that follow
SKIPPED = [
    (
        "Europe/Berlin",
        "every day at 02:30",
        "2026-03-27T12:00:00Z",
        ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"],
    ),
    (
        "Europe/Berlin",
        "every day at 02:00",
        "2026-03-28T12:00:00Z",
        ["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"],
    ),
    (
        "Europe/Berlin",
        "every day at 03:00",
        "2026-03-28T12:00:00Z",
        ["2026-03-29T01:00:00Z", "2026-03-30T01:00:00Z"],
    ),
    (
        "Europe/Berlin",
        "every day at 02:00 and 02:45",
        "2026-03-28T12:00:00Z",
        ["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z", "2026-03-30T00:45:00Z"],
    ),
    (
        "America/New_York",
        "every day at 02:30",
        "2026-03-07T12:00:00Z",
        ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"],
    ),
    (
        "America/New_York",
        "every sunday at 02:30",
        "2026-03-07T12:00:00Z",
        ["2026-03-08T07:00:00Z", "2026-03-15T06:30:00Z"],
    ),
    (
        "America/New_York",
        "30 2 * * *",
        "2026-03-07T12:00:00Z",
        ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"],
    ),
    (
        "America/New_York",
        "FREQ=DAILY;BYHOUR=2;BYMINUTE=30",  # RFC 5545, 3.3.5: with the offset before the gap
        "2026-03-07T12:00:00Z",
        ["2026-03-08T07:30:00Z", "2026-03-09T06:30:00Z"],
    ),
    (
        "America/New_York",
        "*-*-* 02:30",
        "2026-03-07T12:00:00Z",
        ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"],
    ),
    (
        "Australia/Lord_Howe",
        "every day at 02:15",
        "2026-10-02T20:00:00Z",
        ["2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"],
    ),
    (
        "America/Sao_Paulo",
        "every day at midnight",
        "2018-11-03T12:00:00Z",
        ["2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"],
    ),
    (
        "America/Sao_Paulo",
        "every day at 00:30",
        "2018-11-03T12:00:00Z",
        ["2018-11-04T03:00:00Z", "2018-11-05T02:30:00Z"],
    ),
    (
        "Pacific/Apia",
        "every day at 09:00",
        "2011-12-29T00:00:00Z",
        ["2011-12-29T19:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T19:00:00Z"],
    ),
    (
        "Pacific/Apia",
        "every friday at 09:00",
        "2011-12-24T00:00:00Z",
        ["2011-12-30T10:00:00Z", "2012-01-05T19:00:00Z"],
    ),
]

REPEATED = [
    (
        "Europe/Berlin",
        "every day at 02:30",
        "2026-10-24T12:00:00Z",
        ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"],
    ),
    (
        "Europe/Berlin",
        "every day at 02:00",
        "2026-10-24T12:00:00Z",
        ["2026-10-25T00:00:00Z", "2026-10-26T01:00:00Z"],
    ),
    (
        "Europe/Berlin",
        "every day at 03:00",
        "2026-10-24T12:00:00Z",
        ["2026-10-25T02:00:00Z", "2026-10-26T02:00:00Z"],
    ),
    ("Europe/Berlin", "30 2 * * *", "2026-10-24T12:00:00Z", ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]),
    (
        "America/New_York",
        "every sunday at 01:30",
        "2026-10-31T12:00:00Z",
        ["2026-11-01T05:30:00Z", "2026-11-08T06:30:00Z"],
    ),
    (
        "Australia/Lord_Howe",
        "every day at 01:45",
        "2026-04-04T00:00:00Z",
        ["2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"],
    ),
    (
        "America/Havana",
        "every day at 00:30",
        "2025-11-01T12:00:00Z",
        ["2025-11-02T04:30:00Z", "2025-11-03T05:30:00Z"],
    ),
    (
        "Atlantic/Azores",
        "every day at midnight",
        "2025-10-25T12:00:00Z",
        ["2025-10-26T00:00:00Z", "2025-10-27T01:00:00Z"],
    ),
]


@pytest.mark.parametrize(("zone", "intent", "after", "expected"), SKIPPED + REPEATED)
def test_a_fixed_local_time_fires_once_each_day(zone, intent, after, expected):
    plan = when(intent, now=instant(after), tz=zone)
    assert plan.ticks(after=instant(after), limit=len(expected)) == instants(*expected)


@pytest.mark.parametrize(("zone", "intent", "after", "expected"), SKIPPED + REPEATED)
def test_around_each_tick_the_answer_changes_at_the_instant_itself(zone, intent, after, expected):
    plan = when(intent, now=instant(after), tz=zone)
    for tick, following in pairwise(instants(*expected)):
        assert plan.ticks(after=tick - SECOND, limit=1) == [tick]
        assert plan.ticks(after=tick - MICROSECOND, limit=1) == [tick]
        assert plan.ticks(after=tick, limit=1) == [following]
        assert plan.ticks(after=tick + MICROSECOND, limit=1) == [following]


def test_a_listed_hour_that_is_skipped_gives_way_to_the_same_minute_an_hour_later():
    plan = when("30 1-5 * * *", now=instant("2026-03-28T20:00:00Z"), tz="Europe/Berlin")
    assert plan.ticks(after=instant("2026-03-28T20:00:00Z"), limit=4) == instants(
        "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", "2026-03-29T02:30:00Z", "2026-03-29T03:30:00Z"
    )


@pytest.mark.parametrize("intent", ["0 * * * *", "every hour", "@hourly", "*-*-* *:00", "FREQ=HOURLY"])
@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-07-01", 24)])
def test_an_hour_of_star_follows_elapsed_time(intent, day, hours):
    start = instant(f"{day}T00:00:00+02:00") if day != "2026-03-29" else instant(f"{day}T00:00:00+01:00")
    end = start + timedelta(hours=hours)
    plan = when(intent, now=start - SECOND, tz="Europe/Berlin")
    ticks = plan.between(start - SECOND, end - SECOND)
    assert ticks == [start + timedelta(hours=n) for n in range(hours)]


@pytest.mark.parametrize(("day", "count"), [("2026-03-29", 23), ("2026-10-25", 24)])
def test_listed_hours_fire_once_each_even_where_the_hour_comes_twice(day, count):
    plan = when(
        f"0 {','.join(map(str, range(24)))} * * *", now=instant("2026-01-01T00:00:00Z"), tz="Europe/Berlin"
    )
    start = instant(f"{day}T00:00:00+{'01' if day == '2026-03-29' else '02'}:00")
    ticks = plan.between(start - SECOND, start + timedelta(hours=count + (day == "2026-10-25")) - SECOND)
    assert len(ticks) == count


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Asia/Kathmandu"])
@pytest.mark.parametrize(
    ("intent", "seconds"), [("every 15 minutes", 900), ("every 30 seconds", 30), ("every hour", 3600)]
)
def test_an_interval_on_the_clock_is_even_through_whole_hour_changes(zone, intent, seconds):
    after = instant("2018-10-31T00:00:00Z")
    ticks = when(intent, now=after, tz=zone).ticks(after=after, limit=7 * 86_400 // max(seconds, 600))
    assert {later - tick for tick, later in pairwise(ticks)} == {timedelta(seconds=seconds)}


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "UTC"])
@pytest.mark.parametrize(
    ("intent", "seconds"),
    [
        ("every 2 hours", 7200),
        ("every 90 minutes", 5400),
        ("every 7 hours", 25_200),
        ("every 36 hours", 129_600),
    ],
)
def test_a_counted_interval_is_even_through_every_change(zone, intent, seconds):
    after = instant("2011-12-01T00:00:00Z")
    ticks = when(intent, now=after, tz=zone).ticks(after=after, limit=400)
    assert {later - tick for tick, later in pairwise(ticks)} == {timedelta(seconds=seconds)}


def test_an_interval_on_the_clock_stays_on_the_clock_where_it_moves_by_half_an_hour():
    after = instant("2026-10-03T14:50:00Z")
    plan = when("every 20 minutes", now=after, tz="Australia/Lord_Howe")
    # 01:30, 01:40 before the jump from 02:00 to 02:30; then 02:40, 03:00.
    assert plan.ticks(after=after, limit=4) == instants(
        "2026-10-03T15:10:00Z", "2026-10-03T15:40:00Z", "2026-10-03T16:00:00Z", "2026-10-03T16:20:00Z"
    )


@pytest.mark.parametrize(
    ("day", "opens", "count"),
    [
        ("spring", "2026-03-29T00:00:00Z", 5),
        ("autumn", "2026-10-24T23:00:00Z", 9),
        ("summer", "2026-06-30T23:00:00Z", 7),
    ],
)
def test_a_window_opens_and_closes_by_the_clock_and_counts_elapsed_time_between(day, opens, count):
    plan = when(
        "every 30 minutes from 01:00 to 04:00", now=instant("2026-01-01T00:00:00Z"), tz="Europe/Berlin"
    )
    start = instant(opens)
    ticks = plan.between(start - SECOND, start + timedelta(hours=12))
    assert ticks == [start + timedelta(minutes=30 * n) for n in range(count)]


@pytest.mark.parametrize(
    ("zone", "intent", "now", "readings"),
    [
        (
            "Europe/Berlin",
            "2026-03-29 at 02:30",
            "2026-01-01T00:00:00Z",
            ["2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"],
        ),
        (
            "Europe/Berlin",
            "2026-10-25 at 02:30",
            "2026-01-01T00:00:00Z",
            ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"],
        ),
        (
            "America/New_York",
            "tomorrow at 1:30am",
            "2026-10-31T12:00:00Z",
            ["2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"],
        ),
        (
            "Australia/Lord_Howe",
            "4 October 2026 at 02:10",
            "2026-01-01T00:00:00Z",
            ["2026-10-03T15:10:00Z", "2026-10-03T15:30:00Z"],
        ),
        (
            "Europe/Berlin",
            "2026-10-25T02:30:00",
            "2026-01-01T00:00:00Z",
            ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"],
        ),
    ],
)
def test_a_single_instant_into_a_skipped_or_repeated_time_is_refused_with_both_readings(
    zone, intent, now, readings
):
    with pytest.raises(IntentError) as caught:
        when(intent, now=instant(now), tz=zone)
    meant = [
        when(text, now=instant(now), tz=zone).ticks(instant(now), 1)[0] for text in caught.value.suggestions
    ]
    assert meant == instants(*readings)


@pytest.mark.parametrize("day", ["2026-03-28", "2026-03-30", "2026-10-24", "2026-10-26"])
def test_the_days_around_a_change_are_ordinary(day):
    now = instant("2026-01-01T00:00:00Z")
    local = "+01:00" if day in ("2026-03-28", "2026-10-26") else "+02:00"
    assert when(f"{day} at 02:30", now=now, tz="Europe/Berlin").ticks(now) == instants(
        f"{day}T02:30:00{local}"
    )


def test_a_repeated_instant_is_named_with_its_offset():
    now = instant("2026-10-24T01:30:00Z")
    plan = when("in 24 hours", now=now, tz="Europe/Berlin")
    assert plan.sentence == "once at 2026-10-25T02:30:00+01:00 (Europe/Berlin)"
    assert when(plan.sentence, now=now) == plan


def test_hours_are_elapsed_time_and_days_are_calendar_days():
    now = instant("2026-03-28T11:00:00Z")  # noon in Berlin, the day before the clocks go forward
    assert when("in 24 hours", now=now, tz="Europe/Berlin").ticks(now) == instants("2026-03-29T11:00:00Z")
    assert when("in 1 day", now=now, tz="Europe/Berlin").ticks(now) == instants("2026-03-29T10:00:00Z")
