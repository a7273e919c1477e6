"""Many wordings of the same thing, each checked against a calendar that is simply looked up day by day."""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from tests.intent.tables import NOW

from kairos.schedule import when


def last(day: date) -> int:
    return monthrange(day.year, day.month)[1]


def nth(day: date, number: int, weekday: int) -> bool:
    if day.weekday() != weekday:
        return False
    return (day.day - 1) // 7 + 1 == number if number > 0 else (last(day) - day.day) // 7 + 1 == -number


def business(day: date, number: int) -> bool:
    days = [n for n in range(1, last(day) + 1) if date(day.year, day.month, n).weekday() < 5]
    return day.weekday() < 5 and days[number - 1 if number > 0 else number] == day.day


DAYS = {
    ("every day", "each day", "daily", "everyday", "every single day"): lambda day: True,
    (
        "every weekday",
        "weekdays",
        "on weekdays",
        "Monday to Friday",
        "mon-fri",
        "every business day",
        "each workday",
    ): (lambda day: day.weekday() < 5),
    (
        "weekends",
        "every weekend",
        "on weekends",
        "every saturday and sunday",
        "sat-sun",
        "on sat & sun every week",
    ): (lambda day: day.weekday() > 4),
    (
        "every monday",
        "mondays",
        "on mondays",
        "each mon",
        "weekly on monday",
        "every week on mon",
    ): (lambda day: day.weekday() == 0),
    (
        "every tuesday and thursday",
        "tuesdays & thursdays",
        "every tue, thu",
        "every week on tues and thurs",
    ): (lambda day: day.weekday() in (1, 3)),
    (
        "every mon, wed and fri",
        "mondays, wednesdays and fridays",
        "every mon/wed/fri",
        "weekly on mon, wed, fri",
    ): (lambda day: day.weekday() in (0, 2, 4)),
    ("saturdays through tuesdays", "every sat to tue", "from saturday to tuesday"): (
        lambda day: day.weekday() in (5, 6, 0, 1)
    ),
    ("every day except sundays", "every day but sunday", "daily, but not on sundays", "Monday to Saturday"): (
        lambda day: day.weekday() != 6
    ),
    (
        "on the 1st of each month",
        "the first of every month",
        "every 1st of the month",
        "monthly on the 1st",
        "every month on the first day",
        "on day 1 of every month",
        "first day of each month",
        "every 1st",
        "at the start of each month",
    ): lambda day: day.day == 1,
    (
        "on the 1st and 15th of each month",
        "every month on the 1st and the 15th",
        "every 1st and 15th",
        "every month on days 1, 15",
    ): (lambda day: day.day in (1, 15)),
    (
        "on the last day of each month",
        "every last day of the month",
        "monthly on the last day",
        "the last of each month",
        "at the end of every month",
    ): lambda day: day.day == last(day),
    (
        "on the second to last day of each month",
        "the penultimate day of every month",
        "every month on the 2nd last day",
    ): (lambda day: day.day == last(day) - 1),
    ("every day from the 25th to the last", "from the 25th to the last day of each month"): lambda day: (
        day.day >= 25
    ),
    (
        "on the first monday of each month",
        "first monday of every month",
        "every month on the 1st monday",
        "monthly on the first monday",
        "every first monday of the month",
        "the 1st mon of each month",
    ): lambda day: nth(day, 1, 0),
    ("on the last friday of each month", "last friday of every month", "every last fri of the month"): (
        lambda day: nth(day, -1, 4)
    ),
    (
        "2nd and 4th wednesday of each month",
        "second and fourth wednesdays of every month",
        "every 2nd and 4th wed of the month",
    ): (lambda day: nth(day, 2, 2) or nth(day, 4, 2)),
    ("first and third friday and second tuesday of each month",): (
        lambda day: nth(day, 1, 4) or nth(day, 3, 4) or nth(day, 2, 1)
    ),
    (
        "last business day of each month",
        "the last working day of every month",
        "every month on the last weekday",
    ): (lambda day: business(day, -1)),
    (
        "first business day of each month",
        "the first workday of the month",
        "monthly on the 1st business day",
    ): (lambda day: business(day, 1)),
    ("first monday of each quarter", "every quarter on the first monday", "quarterly on the 1st monday"): (
        lambda day: day.month % 3 == 1 and nth(day, 1, 0)
    ),
    ("last day of each quarter", "at the end of every quarter", "every quarter on the last day"): (
        lambda day: day.month % 3 == 0 and day.day == last(day)
    ),
    (
        "every december 25th",
        "every 25 december",
        "yearly on the 25th of december",
        "each year on dec 25",
        "25 December every year",
    ): (lambda day: (day.month, day.day) == (12, 25)),
    (
        "every 1 january and 1 july",
        "every year on jan 1 and jul 1",
        "on the 1st of january and july every year",
    ): (lambda day: day.day == 1 and day.month in (1, 7)),
    (
        "every fourth thursday in november",
        "yearly on the 4th thursday of november",
        "fourth thu in nov each year",
    ): (lambda day: day.month == 11 and nth(day, 4, 3)),
    ("every day in june and july", "daily in june, july"): lambda day: day.month in (6, 7),
    ("every monday in march", "mondays in march"): lambda day: day.month == 3 and day.weekday() == 0,
    ("every friday the 13th", "fridays falling on the 13th"): lambda day: (
        day.weekday() == 4 and day.day == 13
    ),
    ("every monday and also the 1st of each month", "every monday and the 1st of each month"): (
        lambda day: day.weekday() == 0 or day.day == 1
    ),
    ("every 2 months on the 10th", "the 10th of every other month", "every second month on the 10th"): (
        lambda day: day.day == 10 and day.month % 2 == 1
    ),
}

TIMES = {
    ("9am", "9 am", "9 a.m.", "09:00", "9:00am", "9 in the morning", "nine am", "0900"): [9 * 60],
    ("noon", "12pm", "12:00", "midday", "12 noon", "12:00 pm"): [720],
    ("12am", "00:00", "00:00:00", "12:00 am"): [0],
    ("5:30pm", "17:30", "5.30 pm", "half past 5 pm", "5:30 in the afternoon", "17h30"): [17 * 60 + 30],
    ("quarter to 6pm", "5:45 pm", "15 minutes to 6 pm"): [17 * 60 + 45],
    ("9am and 5pm", "09:00, 17:00", "9 and 17", "9 am & 5 pm", "9am, and at 5pm"): [540, 1020],
    ("8am, 12:30pm and 11pm", "08:00, 12:30 and 23:00"): [480, 750, 1380],
}

ZONES = {
    ("", " UTC", " (UTC)"): "UTC",
    (" in London", " London time", " Europe/London", " (Europe/London)"): "Europe/London",
    (" in New York", " America/New_York", " ET", " Eastern time"): "America/New_York",
    (" in Tokyo", " in Japan", ", Asia/Tokyo"): "Asia/Tokyo",
}


def expected(matches, minutes, zone, count):
    """The next instants, day by day and minute by minute; midwinter, so no clock changes are near."""
    found = []
    day = NOW.date() - timedelta(days=1)
    while len(found) < count:
        if matches(day):
            for minute in minutes:
                local = datetime(
                    day.year, day.month, day.day, minute // 60, minute % 60, tzinfo=ZoneInfo(zone)
                )
                if local.astimezone(UTC) > NOW:
                    found.append(local.astimezone(UTC))
        day += timedelta(days=1)
    return found[:count]


@pytest.mark.parametrize(
    ("wordings", "matches"), DAYS.items(), ids=lambda value: value[0] if isinstance(value, tuple) else ""
)
def test_the_days_of_every_wording(wordings, matches):
    for index, (written, minutes) in enumerate(TIMES.items()):
        wanted = expected(matches, minutes, "UTC", 4)
        for number, days in enumerate(wordings):
            time = written[(index + number) % len(written)]
            texts = [f"{days} at {time}", f"at {time} {days}"]
            if "and" not in time and "," not in time and not days.startswith(("from", "daily,")):
                texts.append(f"{days}, at {time}.")
            for text in texts:
                assert when(text, now=NOW).ticks(after=NOW, limit=4) == wanted, text


@pytest.mark.parametrize(
    ("wordings", "minutes"), TIMES.items(), ids=lambda value: value[0] if isinstance(value[0], str) else ""
)
def test_the_times_of_every_wording(wordings, minutes):
    wanted = expected(lambda day: day.weekday() < 5, minutes, "UTC", 6)
    for time in wordings:
        assert when(f"every weekday at {time}", now=NOW).ticks(after=NOW, limit=6) == wanted, time
        assert when(f"EVERY WEEKDAY AT {time.upper()}", now=NOW).ticks(after=NOW, limit=6) == wanted, time


@pytest.mark.parametrize(
    ("wordings", "zone"), ZONES.items(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_the_zone_of_every_wording(wordings, zone):
    for written in wordings:
        for days, matches in list(DAYS.items())[:6]:
            text = f"{days[0]} at 9am{written}"
            assert when(text, now=NOW).ticks(after=NOW, limit=5) == expected(matches, [540], zone, 5), text


INTERVALS = {
    ("every minute", "minutely", "every 1 minute", "every 60 seconds"): 60,
    ("every 5 minutes", "every 5 min", "every 5 mins", "every five minutes", "every 5m"): 300,
    ("every 15 minutes", "every quarter hour", "every quarter of an hour", "every fifteen minutes"): 900,
    (
        "every half hour",
        "every half an hour",
        "every 30 minutes",
        "every thirty minutes",
        "every 0.5 hours",
    ): 1800,
    (
        "every hour",
        "hourly",
        "each hour",
        "every 60 minutes",
        "every 1 h",
        "once an hour",
        "every hour on the hour",
    ): 3600,
    (
        "every 90 minutes",
        "every hour and a half",
        "every 1.5 hours",
        "every 1 hour 30 minutes",
        "every 1h30m",
    ): 5400,
    (
        "every other hour",
        "every 2 hours",
        "every two hours",
        "every second hour",
        "every 2nd hour",
        "every 2h",
    ): 7200,
    ("every 36 hours", "every thirty-six hours", "every 1.5 hours and 2070 minutes"): 129_600,
    ("every 10 seconds", "every 10s", "every ten secs"): 10,
    ("every 7 hours", "every seven hours", "every 420 minutes"): 25_200,
}


@pytest.mark.parametrize(
    ("wordings", "seconds"), INTERVALS.items(), ids=lambda value: value[0] if isinstance(value, tuple) else ""
)
def test_the_interval_of_every_wording(wordings, seconds):
    for text in wordings:
        ticks = when(text, now=NOW).ticks(after=NOW, limit=10)
        assert {later - tick for tick, later in pairwise(ticks)} == {timedelta(seconds=seconds)}, text
        assert ticks[0] - NOW <= timedelta(seconds=seconds), text


DELAYS = {
    ("in 20 minutes", "in 20 min", "20 minutes from now", "in twenty minutes", "in 20m", "PT20M"): 1200,
    ("in half an hour", "half an hour from now", "in 30 minutes", "in 0.5 hours"): 1800,
    ("in an hour", "in 1 hour", "in one hour", "an hour from now", "in 60 minutes", "in 1h", "PT1H"): 3600,
    (
        "in an hour and a half",
        "in 90 minutes",
        "in 1.5 hours",
        "in 1 hour and 30 minutes",
        "in 1h30m",
        "PT1H30M",
    ): 5400,
    ("in 2 and a half hours", "in 2.5 hours", "in 2 hours 30 minutes", "in 150 minutes"): 9000,
    ("in a day", "in 1 day", "in 24 hours", "a day from now", "tomorrow at 10:17:23", "P1D"): 86_400,
    ("in a week", "in 7 days", "in one week", "P1W", "P7D"): 604_800,
    ("in a fortnight", "in two weeks", "in 14 days", "2 weeks from now"): 1_209_600,
}


@pytest.mark.parametrize(
    ("wordings", "seconds"), DELAYS.items(), ids=lambda value: value[0] if isinstance(value, tuple) else ""
)
def test_the_delay_of_every_wording(wordings, seconds):
    for text in wordings:
        assert when(text, now=NOW).ticks(after=NOW) == [NOW + timedelta(seconds=seconds)], text


DATES = {
    (
        "24 December 2026",
        "24th December 2026",
        "24th of December 2026",
        "the 24th of December, 2026",
        "December 24 2026",
        "December 24th, 2026",
        "Dec 24, 2026",
        "24 dec 2026",
        "2026-12-24",
        "2026/12/24",
        "24/12/2026",
        "12/24/2026",
        "24.12.2026",
        "Thursday, 24 December 2026",
        "Thu Dec 24 2026",
        "24 December",
        "December the 24th",
        "thursday 24 december",
    ): date(2026, 12, 24),
    (
        "tomorrow",
        "thursday",
        "on thursday",
        "this thursday",
        "the 15th",
        "on the 15th",
        "15 january",
        "thursday the 15th",
    ): (date(2026, 1, 15)),
    ("the day after tomorrow", "day after tomorrow", "friday", "in 2 days"): date(2026, 1, 16),
    ("monday", "on monday", "monday next week", "next week on monday", "monday of next week"): date(
        2026, 1, 19
    ),
    ("the 5th of next month", "next month on the 5th", "february 5", "5 feb"): date(2026, 2, 5),
}


@pytest.mark.parametrize(
    ("wordings", "day"), DATES.items(), ids=lambda value: value[0] if isinstance(value, tuple) else ""
)
def test_the_date_of_every_wording(wordings, day):
    wanted = [datetime(day.year, day.month, day.day, 18, tzinfo=UTC)]
    for text in wordings:
        assert when(f"{text} at 6pm", now=NOW).ticks(after=NOW) == wanted, text
        assert when(f"{text} at 18:00", now=NOW).ticks(after=NOW) == wanted, text
        if not text.startswith("in"):
            assert when(f"6pm {text}", now=NOW).ticks(after=NOW) == wanted, text
            assert when(f"at 6 in the evening {text}", now=NOW).ticks(after=NOW) == wanted, text
