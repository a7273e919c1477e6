"""The next ticks of a recurrence rule cost work in proportion to what is asked, whatever the rule lists."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import FrameType
from typing import Any

import pytest
from tests.intent.tables import NOW

from kairos.schedule import IntentError, when
from kairos.schedule.parse import read_sentence

LINES = 500_000  # lines of Python that parsing a rule and finding its next ticks may execute

HOURS = ",".join(map(str, range(24)))
SIXTY = ",".join(map(str, range(60)))
WEEKS = ",".join(map(str, range(1, 54)))
WEEK = "MO,TU,WE,TH,FR,SA,SU"
EVERY_SECOND = f"BYHOUR={HOURS};BYMINUTE={SIXTY};BYSECOND={SIXTY}"


@pytest.fixture(scope="module", autouse=True)
def imported_modules():
    """Import what parsing needs, so that no test counts the lines of a module."""
    when("by RRULE FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO from 2030-05-13 09:00 (Europe/London)", now=NOW)
    when("DTSTART;TZID=Europe/London:20300513T090000\nRRULE:FREQ=DAILY", now=NOW)


@contextmanager
def at_most(lines: int) -> Iterator[None]:
    """Fail once the block has executed more than so many lines."""
    left = lines

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        left -= event == "line"
        assert left > 0, f"more than {lines} lines"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


LARGE = [
    f"DTSTART:20200101T000000Z\nRRULE:FREQ=YEARLY;{EVERY_SECOND};BYDAY={WEEK}",
    f"DTSTART:20200101T000000Z\nRRULE:FREQ=YEARLY;BYHOUR={HOURS};BYMINUTE={SIXTY};BYSECOND=0,1;BYDAY={WEEK}",
    f"DTSTART;TZID=Europe/London:20200101T000000\nRRULE:FREQ=YEARLY;{EVERY_SECOND};BYDAY={WEEK};BYWEEKNO={WEEKS}",
    f"DTSTART;TZID=Europe/London:20260329T000000\nRRULE:FREQ=DAILY;{EVERY_SECOND}",
    f"DTSTART;TZID=Europe/London:20260329T000000\nRRULE:FREQ=YEARLY;{EVERY_SECOND};BYDAY={WEEK};BYWEEKNO={WEEKS}",
    f"DTSTART:20200101T000000Z\nRRULE:FREQ=YEARLY;{EVERY_SECOND};BYDAY={WEEK};BYSETPOS=1,2,-1",
    f"DTSTART:20200101T000000Z\nRRULE:FREQ=YEARLY;BYWEEKNO={WEEKS};BYDAY={WEEK};BYHOUR={HOURS};BYMINUTE={SIXTY};BYSECOND=0",
    "DTSTART:20200229T000000Z\nRRULE:FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=29;BYHOUR=0",
]


@pytest.mark.parametrize("text", LARGE)
def test_a_rule_with_many_ticks_a_year_is_expanded_only_as_far_as_asked(text):
    with at_most(LINES):
        plan = when(text, now=NOW)
        assert len(plan.ticks(after=NOW, limit=5)) == 5
    with at_most(LINES):
        assert read_sentence(plan.sentence) == plan


NEVER = [
    "RRULE:FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30",
    "RRULE:FREQ=SECONDLY;BYMONTH=1;BYYEARDAY=366",
    "RRULE:FREQ=SECONDLY;BYHOUR=3;BYSETPOS=2",
    "RRULE:FREQ=MINUTELY;BYHOUR=3;BYSETPOS=2",
    f"RRULE:FREQ=HOURLY;BYMINUTE={SIXTY};BYSECOND=0,1,2,3,4;BYSETPOS=366;BYMONTH=4;BYMONTHDAY=31",
    "RRULE:FREQ=DAILY;BYHOUR=9,10;BYMINUTE=0;BYSETPOS=3",
    "RRULE:FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO;BYMONTH=12;BYHOUR=9",
    "by RRULE FREQ=SECONDLY;INTERVAL=2;BYSECOND=1 from 2026-01-01 00:00 (UTC)",
    "by RRULE FREQ=SECONDLY;INTERVAL=2;BYSECOND=1 from 2026-01-01 00:00 (Europe/London)",
    "by RRULE FREQ=MINUTELY;INTERVAL=10080;BYDAY=TU from 2026-01-05 00:00 (Europe/London)",
    "by RRULE FREQ=DAILY;INTERVAL=7;BYDAY=TU from 2026-01-05 09:00 (UTC)",
    "by RRULE FREQ=HOURLY;INTERVAL=999999;BYMONTH=2;BYMONTHDAY=30 from 2026-01-05 09:00 (UTC)",
]


@pytest.mark.parametrize("text", NEVER)
def test_a_rule_that_never_fires_is_refused_by_the_calendar(text):
    with at_most(LINES), pytest.raises(IntentError, match=r"^This would never fire\."):
        when(text, now=NOW)


@pytest.mark.parametrize(
    "rule", ["FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "FREQ=YEARLY", f"FREQ=YEARLY;BYDAY={WEEK};BYSETPOS=131"]
)
def test_a_count_is_not_followed_for_thousands_of_years(rule):
    with pytest.raises(IntentError, match=r"^COUNT reaches past the year 2999\."):
        when(f"DTSTART:20260511T090000Z\nRRULE:{rule};COUNT=10000", now=NOW)
    assert when(f"DTSTART:20260511T090000Z\nRRULE:{rule};COUNT=100", now=NOW)


def test_skipped_times_fall_among_later_ones_in_order_and_over_midnight():
    # In Nuuk the clocks jump from 23:00 on Saturday to 00:00 on Sunday.
    rule = "FREQ=DAILY;BYHOUR=22,23,0;BYMINUTE=15,30;BYSETPOS=1,2,3,4,5,6"
    ticks = when(f"DTSTART;TZID=America/Nuuk:20260328T223000\nRRULE:{rule}", now=NOW).ticks(
        datetime(2026, 3, 29, 0, 29, tzinfo=UTC), 6
    )
    assert [f"{tick:%d %H:%M}" for tick in ticks] == [
        "29 00:30",  # 22:30 on Saturday
        "29 01:15",  # 23:15 on Saturday, which is skipped, and 00:15 on Sunday
        "29 01:30",
        "29 23:15",
        "29 23:30",
        "30 00:15",
    ]


@pytest.mark.parametrize("kept", ["", f";BYWEEKNO={WEEKS}"])
def test_a_tick_late_on_the_day_of_a_jump_is_found_without_the_ticks_before_it(kept):
    text = f"DTSTART;TZID=Europe/London:20260101T000000\nRRULE:FREQ=YEARLY;{EVERY_SECOND};BYDAY={WEEK}{kept}"
    plan = when(text, now=NOW)
    late = datetime(2026, 3, 29, 22, 30, tzinfo=UTC)
    with at_most(LINES):
        assert plan.ticks(after=late, limit=3) == [late + timedelta(seconds=n) for n in (1, 2, 3)]
