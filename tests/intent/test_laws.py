"""Laws that hold for every schedule, not only for the ones that somebody thought of."""

from __future__ import annotations

import string
from datetime import timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from tests.intent.tables import NOW, rows
from tests.intent.values import ZONES, instants, schedules, zones

from kairos.schedule import IntentError, Plan, when
from kairos.schedule.english.vocabulary import KNOWN, VAGUE
from kairos.schedule.parse import read_sentence
from kairos.schedule.plan.recurrence import Recurrence
from kairos.schedule.render.sentence import sentence

SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much]


def fires(schedule: Recurrence) -> bool:
    from datetime import UTC, datetime

    return bool(Plan(schedule).ticks(after=datetime(1970, 1, 1, tzinfo=UTC), limit=1))


@settings(max_examples=500, deadline=None, suppress_health_check=SLOW)
@given(schedules())
def test_the_sentence_of_a_schedule_reads_back_as_the_same_schedule(schedule):
    assume(fires(schedule))
    assert read_sentence(sentence(schedule)).recurrence == schedule


@settings(max_examples=300, deadline=None, suppress_health_check=SLOW)
@given(schedules(), instants)
def test_ticks_come_strictly_after_and_strictly_in_order(schedule, after):
    ticks = Plan(schedule).ticks(after=after, limit=25)
    assert all(tick > after for tick in ticks)
    assert all(later > tick for tick, later in pairwise(ticks))


@settings(max_examples=300, deadline=None, suppress_health_check=SLOW)
@given(schedules(), instants, st.integers(0, 24), st.integers(0, 24), st.integers(-1, 1))
def test_two_stretches_have_the_ticks_of_the_whole(schedule, start, first, second, nudge):
    plan = Plan(schedule)
    ahead = plan.ticks(after=start, limit=50)
    assume(len(ahead) > 1)
    a = start
    b = max(a, ahead[min(first, len(ahead) - 1)] + timedelta(seconds=nudge))
    c = max(b, ahead[min(first + second, len(ahead) - 1)])
    assert plan.between(a, c) == plan.between(a, b) + plan.between(b, c)


@settings(max_examples=200, deadline=None, suppress_health_check=SLOW)
@given(schedules(), instants)
def test_asking_anew_after_every_tick_gives_the_same_ticks(schedule, after):
    plan = Plan(schedule)
    at = after
    for tick in plan.ticks(after=after, limit=12):
        assert plan.ticks(after=at, limit=1) == [tick]
        at = tick


@settings(max_examples=200, deadline=None, suppress_health_check=SLOW)
@given(schedules(), instants)
def test_no_tick_lies_outside_the_bounds_of_its_schedule(schedule, after):
    plan = Plan(schedule)
    local = zone_of(schedule.zone)
    for tick in islice(plan.iterate(after), 20):
        if schedule.start is not None:
            start = schedule.start
            assert (tick >= start) if hasattr(start, "hour") else (tick.astimezone(local).date() >= start)
        if schedule.end is not None:
            end = schedule.end
            assert (tick <= end) if hasattr(end, "hour") else (tick.astimezone(local).date() <= end)


def zone_of(name):
    from kairos.schedule.timezones import load_zone

    return load_zone(name)


GLUE = [
    "every",
    "each",
    "at",
    "on",
    "in",
    "the",
    "of",
    "and",
    "to",
    "from",
    "until",
    "for",
    "between",
    "except",
    "starting",
    "last",
    "day",
    "month",
    "am",
    "pm",
]
NUMERALS = [
    "1",
    "2",
    "3",
    "5",
    "9",
    "10",
    "15",
    "17",
    "24",
    "31",
    "45",
    "60",
    "90",
    "2026",
    "9am",
    "5pm",
    "09:00",
    "17:30",
    "9:30",
    "00:00",
    "1st",
    "2nd",
    "3rd",
    "15th",
    "31st",
]
MARKS = [
    "2026-12-24",
    "12/11/2026",
    "25/12/2026",
    "UTC",
    "Europe/London",
    "London",
    "*",
    ",",
    "-",
    "(",
    ")",
    "@",
    "/",
    "%",
    "¹",
    "٣",
    "/",
    "0",
    "*",
    "*",
]
WORDS = [*sorted(KNOWN | set(VAGUE)), *GLUE, *NUMERALS, *MARKS]


@settings(max_examples=1_200, deadline=None)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9), zones)
def test_any_words_in_any_order_are_understood_or_refused_and_nothing_else(words, zone):
    text = " ".join(words)
    try:
        plan = when(text, now=NOW, tz=zone)
    except IntentError as refusal:
        assert 0 <= refusal.position <= len(text)
        assert refusal.message and str(refusal)
        return
    assert plan.ticks(after=NOW, limit=2)
    assert when(plan.sentence, now=NOW) == plan


@settings(max_examples=600, deadline=None)
@given(st.text(alphabet=string.printable + "¹²٣–“”é🙂\u2028", max_size=40))
@example("")
@example(" ")
@example("R/")
@example("P")
@example("DTSTART:")
@example("FREQ=")
@example("OnCalendar=")
@example("..")
@example("*:")
@example("@")
def test_any_characters_are_understood_or_refused_and_nothing_else(text):
    try:
        plan = when(text, now=NOW)
    except IntentError as refusal:
        assert all(when(each, now=NOW) for each in refusal.suggestions)
        return
    assert plan.ticks(after=NOW, limit=1)


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(rows("phrases")), st.data())
def test_a_phrase_with_a_word_dropped_is_refused_or_reads_back(row, data):
    words = row["when"].split(" ")
    assume(len(words) > 1)
    index = data.draw(st.integers(0, len(words) - 1))
    try:
        plan = when(" ".join(words[:index] + words[index + 1 :]), now=NOW)
    except IntentError:
        return
    assert when(plan.sentence, now=NOW) == plan


@pytest.mark.parametrize("zone", ZONES)
def test_every_phrase_reads_back_in_every_zone(zone):
    for row in rows("phrases"):
        try:
            plan = when(row["when"], now=NOW, tz=zone)
        except IntentError:
            continue  # “wednesday” may be today there
        assert when(plan.sentence, now=NOW) == plan
        assert read_sentence(plan.sentence) == plan
