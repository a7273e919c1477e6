"""Every notation ends in a sentence that reads back, and words that describe a cron expression never mean another."""

from __future__ import annotations

import re
from itertools import product

import pytest
from cronsim import CronSim
from tests.intent.tables import NOW

from kairos.schedule import IntentError, Plan, when
from kairos.schedule.parse import read_sentence


def understood(text: str) -> Plan | None:
    try:
        return when(text, now=NOW)
    except IntentError:
        return None


@pytest.mark.parametrize("months", ["*", "2", "2,3", "4"])
def test_a_range_of_days_to_the_end_of_the_month_reads_back(months):
    for first in range(1, 30):
        plan = when(f"0 9 {first}-31 {months} *", now=NOW)
        assert read_sentence(plan.sentence) == plan, plan.sentence


DESCRIBED = product(
    ("15", "*/7", "0,30"),
    ("9", "22", "*", "*/2", "9-17", "8,20"),
    (("*", "*"), ("1", "*"), ("L", "*"), ("*/2", "*"), ("15", "1,7"), ("*", "6"), ("1-7", "*")),
    ("*", "1", "1-5", "SAT,SUN", "1#2", "5L"),
)


def test_a_cron_expression_in_words_is_refused_or_means_that_expression():
    for minute, hour, (day, month), weekday in DESCRIBED:
        expression = f"{minute} {hour} {day} {month} {weekday}"
        described = CronSim(expression, NOW).explain()
        # “At 09:15” by itself is the next 09:15, and an interval that does not divide the hour counts on and on.
        plan = None if re.fullmatch(r"At [0-9:]+|Every seventh minute", described) else understood(described)
        if plan is not None:
            assert plan.ticks(after=NOW, limit=8) == when(expression, now=NOW).ticks(NOW, 8), described


RULES = product(
    ("DAILY", "WEEKLY", "MONTHLY", "YEARLY"),
    (1, 2, 15),
    ("", ";BYDAY=MO", ";BYDAY=TU,SU", ";BYDAY=1MO", ";BYDAY=-1FR", ";BYDAY=MO,TU,WE,TH,FR;BYSETPOS=2"),
    ("", ";BYMONTH=2", ";BYMONTHDAY=1,31", ";BYMONTHDAY=-1", ";BYYEARDAY=1,100", ";BYHOUR=9,17"),
)


def test_a_recurrence_rule_that_is_understood_reads_back():
    read = 0
    for frequency, interval, by_day, more in RULES:
        rule = f"RRULE:FREQ={frequency};INTERVAL={interval}{by_day}{more}"
        for start in ("20260201T090000", "20260202T090000"):
            plan = understood(f"DTSTART;TZID=Europe/Berlin:{start}\n{rule}")
            if plan is not None:
                assert read_sentence(plan.sentence) == plan, rule
                read += 1
    assert read > 40


EVENTS = product(
    ("", "Mon..Fri ", "Sat,Sun ", "Mon-Wed "),
    ("*-*-*", "*-*-1/5", "*-02-1/5", "*-*~7/1", "*-*~1..5", "*-6..8-01", "2027..2028-*-31"),
    ("09:00", "*:0/15", "0/6:00", "9..17/2:0/20", "*:*:0/20"),
)


def test_a_calendar_event_reads_back():
    for weekdays, day, time in EVENTS:
        plan = when(f"{weekdays}{day} {time}", now=NOW)
        assert read_sentence(plan.sentence) == plan, plan.sentence
