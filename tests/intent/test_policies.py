"""Start, end, count, windows, exceptions, holidays: each at its boundary."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from tests.intent.tables import NOW, instant, instants

from kairos.schedule import IntentError, when

MICROSECOND = timedelta(microseconds=1)
SECOND = timedelta(seconds=1)


def ticks(intent, *, now=NOW, tz="UTC", limit=50, **options):
    return when(intent, now=now, tz=tz, **options).ticks(after=now, limit=limit)


# --- start and end ------------------------------------------------------------------------------------------------


def test_a_start_is_inclusive():
    assert ticks("every day at 09:00 from 2026-02-01", limit=1) == instants("2026-02-01T09:00:00Z")
    assert ticks("every day at 09:00 from 2026-02-01 09:00", limit=1) == instants("2026-02-01T09:00:00Z")
    assert ticks("every day at 09:00 from 2026-02-01 09:00:01", limit=1) == instants("2026-02-02T09:00:00Z")


def test_nothing_fires_before_the_start_even_when_asked_for_the_past():
    plan = when("every day at 09:00 from 2026-02-01", now=NOW)
    assert plan.ticks(after=instant("2020-01-01T00:00:00Z"), limit=1) == instants("2026-02-01T09:00:00Z")


def test_an_end_day_is_inclusive_to_its_last_second():
    assert ticks("every day at 23:59:59 until 2026-01-16")[-1] == instant("2026-01-16T23:59:59Z")
    assert ticks("every day at 00:00 until 2026-01-16")[-1] == instant("2026-01-16T00:00:00Z")


def test_an_end_day_is_the_local_day():
    assert ticks("every day at 23:30 until 2026-01-16", tz="America/New_York")[-1] == instant(
        "2026-01-17T04:30:00Z"
    )
    assert ticks("every day at 00:30 until 2026-01-16", tz="Asia/Tokyo")[-1] == instant(
        "2026-01-15T15:30:00Z"
    )


@pytest.mark.parametrize(
    ("end", "last"),
    [
        ("08:59:59", "2026-01-15T09:00:00Z"),
        ("09:00", "2026-01-16T09:00:00Z"),
        ("09:00:01", "2026-01-16T09:00:00Z"),
    ],
)
def test_an_end_instant_is_inclusive(end, last):
    assert ticks(f"every day at 09:00 until 2026-01-16 {end}")[-1] == instant(last)


@pytest.mark.parametrize("count", [1, 2, 99, 100, 101])
def test_a_count_is_the_number_of_ticks_in_all(count):
    assert len(ticks(f"every day at 09:00 for {count} times", limit=1_000)) == count


def test_a_count_is_fixed_when_it_is_read():
    plan = when("every day at 09:00 for 3 times", now=NOW)
    assert plan.sentence == "every day at 09:00 until 2026-01-17 09:00 (UTC)"
    assert plan.ticks(after=instant("2026-01-16T09:00:00Z")) == instants("2026-01-17T09:00:00Z")


def test_repeating_intervals_count_every_tick():
    assert ticks("R5/2026-02-01T00:00:00Z/PT1H") == [
        instant("2026-02-01T00:00:00Z") + timedelta(hours=n) for n in range(5)
    ]
    assert ticks("R1/2026-02-01T00:00:00Z/PT1H") == instants("2026-02-01T00:00:00Z")


def test_a_length_counts_from_the_start_or_from_now():
    assert len(ticks("every day at 09:00 for 2 weeks")) == 14
    assert len(ticks("every day at 09:00 from 2026-02-01 for 2 weeks")) == 14
    assert ticks("every day at 09:00 from 2026-02-01 for 1 month")[-1] == instant("2026-02-28T09:00:00Z")


def test_an_end_before_any_tick_is_refused():
    assert ticks("every day at 09:00 until 2026-01-15") == instants("2026-01-15T09:00:00Z")
    with pytest.raises(IntentError, match="never fire"):
        when("every day at 09:00 until 2026-01-14", now=NOW)


# --- every n-th ---------------------------------------------------------------------------------------------------


def test_every_other_friday_starts_at_its_first_match_and_names_it():
    plan = when("every other friday at 15:00", now=NOW)
    assert plan.sentence == "every 2 weeks on friday at 15:00 from 2026-01-16 (UTC)"
    friday = instant("2026-01-16T15:00:00Z")
    assert when("every other friday at 15:00", now=friday - SECOND).ticks(friday - SECOND, 1) == [friday]
    assert when("every other friday at 15:00", now=friday).ticks(friday, 1) == [friday + timedelta(days=7)]


def test_every_second_week_keeps_its_phase_for_decades():
    plan = when("every 2 weeks on friday at 15:00 from 2001-01-05", now=NOW)
    for tick in plan.ticks(after=NOW, limit=20):
        assert (tick.date() - date(2001, 1, 5)).days % 14 == 0


def test_months_that_come_round_each_year_are_named():
    assert when("every 3 months on the 1st at 06:00", now=NOW).sentence == (
        "every year on the 1st of January, April, July and October at 06:00 (UTC)"
    )
    assert when("every 3 months on the 1st at 06:00 from 2026-02-01", now=NOW).sentence == (
        "every year on the 1st of February, May, August and November at 06:00 from 2026-02-01 (UTC)"
    )


# --- days of the month --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("intent", "year", "days"),
    [
        ("on the last day of each month at noon", 2028, [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]),
        ("on the last day of each month at noon", 2027, [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]),
        (
            "on the last business day of each month at noon",
            2026,
            [30, 27, 31, 30, 29, 30, 31, 31, 30, 30, 30, 31],
        ),
        ("on the first business day of each month at noon", 2026, [1, 2, 2, 1, 1, 1, 1, 3, 1, 1, 2, 1]),
        ("on the last friday of each month at noon", 2026, [30, 27, 27, 24, 29, 26, 31, 28, 25, 30, 27, 25]),
        ("on the 2nd tuesday of each month at noon", 2026, [13, 10, 10, 14, 12, 9, 14, 11, 8, 13, 10, 8]),
        ("0 12 15W * *", 2026, [15, 16, 16, 15, 15, 15, 15, 14, 15, 15, 16, 15]),
        ("0 12 1W * *", 2026, [1, 2, 2, 1, 1, 1, 1, 3, 1, 1, 2, 1]),
        ("0 12 LW * *", 2026, [30, 27, 31, 30, 29, 30, 31, 31, 30, 30, 30, 31]),
        ("0 12 L-2 * *", 2026, [29, 26, 29, 28, 29, 28, 29, 29, 28, 29, 28, 29]),
    ],
)
def test_days_counted_within_a_month(intent, year, days):
    start = instant(f"{year}-01-01T00:00:00Z")
    found = when(intent, now=start).ticks(after=start - SECOND, limit=12)
    assert [(tick.month, tick.day) for tick in found] == list(enumerate(days, 1))


def test_a_fifth_friday_comes_only_in_months_that_have_one():
    found = when("on the 5th friday of each month at noon", now=NOW).ticks(NOW, 4)
    assert [tick.date() for tick in found] == [
        date(2026, 1, 30),
        date(2026, 5, 29),
        date(2026, 7, 31),
        date(2026, 10, 30),
    ]


def test_leap_days_are_found_over_the_century_that_skips_one():
    found = when("0 0 29 2 *", now=NOW).ticks(instant("2095-01-01T00:00:00Z"), 2)
    assert [tick.date() for tick in found] == [date(2096, 2, 29), date(2104, 2, 29)]


def test_both_day_fields_of_cron_mean_either_and_the_sentence_says_so():
    plan = when("0 0 13 * 5", now=NOW)
    assert plan.sentence == "on the 13th of each month and also every friday at 00:00 (UTC)"
    assert [tick.day for tick in plan.ticks(instant("2026-04-01T00:00:00Z"), 6)] == [3, 10, 13, 17, 24, 1]


def test_a_weekday_that_falls_on_a_day_means_both():
    found = when("every friday the 13th at noon", now=NOW).ticks(NOW, 4)
    assert [tick.date() for tick in found] == [
        date(2026, 2, 13),
        date(2026, 3, 13),
        date(2026, 11, 13),
        date(2027, 8, 13),
    ]


# --- windows ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "following"),
    [
        ("2026-01-15T08:59:59Z", "2026-01-15T09:00:00Z"),
        ("2026-01-15T09:00:00Z", "2026-01-15T09:15:00Z"),
        ("2026-01-15T16:59:59Z", "2026-01-15T17:00:00Z"),
        ("2026-01-15T17:00:00Z", "2026-01-16T09:00:00Z"),
        ("2026-01-16T17:00:00Z", "2026-01-19T09:00:00Z"),
    ],
)
def test_a_window_includes_both_its_ends(after, following):
    plan = when("every 15 minutes between 9 and 17 on weekdays", now=NOW)
    assert plan.ticks(after=instant(after), limit=1) == instants(following)


def test_a_window_over_midnight_closes_on_the_next_day():
    plan = when("every 30 minutes from 23:00 to 01:00", now=NOW)
    assert plan.ticks(after=instant("2026-01-15T22:00:00Z"), limit=6) == instants(
        "2026-01-15T23:00:00Z",
        "2026-01-15T23:30:00Z",
        "2026-01-16T00:00:00Z",
        "2026-01-16T00:30:00Z",
        "2026-01-16T01:00:00Z",
        "2026-01-16T23:00:00Z",
    )


def test_an_interval_that_does_not_divide_its_window_begins_anew_each_day():
    plan = when("every 45 minutes from 09:00 to 10:00", now=NOW)
    assert plan.ticks(after=instant("2026-01-15T00:00:00Z"), limit=3) == instants(
        "2026-01-15T09:00:00Z", "2026-01-15T09:45:00Z", "2026-01-16T09:00:00Z"
    )


# --- exceptions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exception", "gone", "kept"),
    [
        ("except on 25 December", ["2026-12-25", "2027-12-25"], ["2026-12-24", "2026-12-26"]),
        ("except on 25 December 2026", ["2026-12-25"], ["2026-12-24", "2027-12-25"]),
        ("except on 2026-12-25", ["2026-12-25"], ["2026-12-24", "2026-12-26", "2027-12-25"]),
        ("except weekends", ["2026-01-17", "2026-01-18"], ["2026-01-16", "2026-01-19"]),
        ("except on mondays and fridays", ["2026-01-16", "2026-01-19"], ["2026-01-15", "2026-01-17"]),
        ("except in august", ["2026-08-01", "2026-08-31"], ["2026-07-31", "2026-09-01"]),
        ("except in august 2026", ["2026-08-01", "2026-08-31"], ["2026-07-31", "2027-08-01"]),
        ("except the first monday of each month", ["2026-02-02", "2026-03-02"], ["2026-02-09"]),
        ("except on the last day of each month", ["2026-01-31", "2026-02-28"], ["2026-02-27"]),
        ("except from 24 December to 2 January", ["2026-12-24", "2027-01-02"], ["2026-12-23", "2027-01-03"]),
        ("except from 2026-12-24 to 2027-01-02", ["2026-12-24", "2027-01-02"], ["2026-12-23", "2027-12-24"]),
        ("except tomorrow", ["2026-01-15"], ["2026-01-16"]),
    ],
)
def test_no_tick_falls_on_an_excepted_day(exception, gone, kept):
    days = {tick.date().isoformat() for tick in ticks(f"every day at 12:00 {exception}", limit=800)}
    assert days.isdisjoint(gone)
    assert days.issuperset(kept)


def test_intervals_skip_excepted_days_without_losing_their_phase():
    found = ticks("every 7 hours except weekends", limit=40)
    assert not any(tick.weekday() > 4 for tick in found)
    assert {(tick - NOW).total_seconds() % (7 * 3600) for tick in found} == {0.0}


def test_holidays_come_from_the_calendar_that_was_configured():
    calendars = {"uk": {date(2026, 1, 15)}, "office": {date(2026, 1, 16)}}
    found = ticks("every weekday at 09:00 except uk holidays", limit=2, calendars=calendars)
    assert found == instants("2026-01-16T09:00:00Z", "2026-01-19T09:00:00Z")
    found = ticks(
        "every weekday at 09:00 except uk holidays and office holidays", limit=1, calendars=calendars
    )
    assert found == instants("2026-01-19T09:00:00Z")


def test_holidays_without_a_name_need_exactly_one_calendar():
    plan = when("every weekday at 09:00 except holidays", now=NOW, calendars={"uk": {date(2026, 1, 15)}})
    assert plan.sentence == "every weekday at 09:00 except uk holidays (UTC)"
    for calendars in ({}, {"uk": set(), "de": set()}):
        with pytest.raises(IntentError, match="calendar"):
            when("every weekday at 09:00 except holidays", now=NOW, calendars=calendars)


# --- bare times and readings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(-1, "2026-01-14T17:00:00Z"), (0, "2026-01-15T17:00:00Z"), (1, "2026-01-15T17:00:00Z")],
)
def test_a_time_alone_is_its_next_coming_once(seconds, expected):
    now = instant("2026-01-14T17:00:00Z") + timedelta(seconds=seconds)
    assert when("at 5pm", now=now).ticks(now) == instants(expected)


def test_a_date_without_a_year_is_its_next_coming():
    assert ticks("14 January at 11:00") == instants("2026-01-14T11:00:00Z")
    assert ticks("14 January at 10:00") == instants("2027-01-14T10:00:00Z")


def test_tomorrow_is_the_day_of_the_zone_wherever_it_is_named():
    now = instant("2026-01-14T20:00:00Z")  # already the 15th in Tokyo
    assert when("tomorrow at 09:00 in Tokyo", now=now).ticks(now) == instants("2026-01-16T00:00:00Z")
    assert when("in Tokyo tomorrow at 09:00", now=now).ticks(now) == instants("2026-01-16T00:00:00Z")


def test_a_delay_is_never_shorter_than_asked():
    now = NOW + timedelta(microseconds=500_000)
    assert when("in 20 minutes", now=now).ticks(now) == instants("2026-01-14T10:37:24Z")


def test_parts_with_different_times_are_united():
    assert ticks("every monday at 09:00 and every tuesday at 10:00", limit=3) == instants(
        "2026-01-19T09:00:00Z", "2026-01-20T10:00:00Z", "2026-01-26T09:00:00Z"
    )
