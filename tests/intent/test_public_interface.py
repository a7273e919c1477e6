"""What a caller sees: a plan, its sentence and its ticks, and a refusal that points and helps."""

from __future__ import annotations

import ast
import pickle
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from tests.intent.tables import NOW, instants

import kairos.schedule
from kairos.errors import BadRequest
from kairos.schedule import IntentError, when
from kairos.schedule.parse import read_sentence

SOURCE = Path(kairos.schedule.__file__).parent


def test_the_public_names_are_these():
    assert kairos.schedule.__all__ == ["IntentError", "Plan", "when"]


def test_a_plan_has_a_sentence_and_ticks():
    plan = when("every weekday at 9am in London", now=NOW, tz="UTC")
    assert plan.sentence == "every weekday at 09:00 (Europe/London)"
    assert plan.zone == "Europe/London"
    assert plan.ticks(after=NOW, limit=2) == instants("2026-01-15T09:00:00Z", "2026-01-16T09:00:00Z")
    assert all(tick.tzinfo is UTC for tick in plan.ticks(after=NOW))
    assert len(plan.ticks(after=NOW)) == 5
    assert plan.ticks(after=NOW, limit=0) == []


def test_now_is_the_current_time_unless_given():
    before = datetime.now(UTC)
    (tick,) = when("in 20 minutes").ticks(after=before)
    assert timedelta(minutes=20) <= tick - before < timedelta(minutes=21)
    assert when("every minute").ticks(limit=1)[0] > before


def test_instants_in_other_zones_are_the_same_instants():
    plan = when("every day at 09:00", now=NOW)
    elsewhere = NOW.astimezone(timezone(timedelta(hours=9)))
    assert plan.ticks(after=elsewhere) == plan.ticks(after=NOW)
    assert when("in 20 minutes", now=elsewhere) == when("in 20 minutes", now=NOW)


def test_an_instant_without_a_zone_is_an_error():
    with pytest.raises(ValueError, match="aware"):
        when("every minute", now=datetime(2026, 1, 1))
    with pytest.raises(ValueError, match="aware"):
        when("every minute", now=NOW).ticks(after=datetime(2026, 1, 1))


def test_plans_are_values():
    plan, same = when("every monday at 9am", now=NOW), when("mondays at 09:00", now=NOW)
    assert plan == same
    assert hash(plan) == hash(same)
    assert plan != when("every monday at 10am", now=NOW)
    assert plan != when("every monday at 9am", now=NOW, tz="Asia/Tokyo")
    assert pickle.loads(pickle.dumps(plan)) == plan
    with pytest.raises(AttributeError):
        plan.recurrence = None


def test_a_stored_sentence_is_read_again_after_its_last_tick():
    plan = when("tomorrow at noon", now=NOW)
    assert read_sentence(plan.sentence) == plan
    assert read_sentence(plan.sentence).ticks(after=NOW + timedelta(days=500)) == []
    with pytest.raises(IntentError, match="past"):
        when(plan.sentence, now=NOW + timedelta(days=500))


def test_between_includes_its_end_and_not_its_start():
    plan = when("every hour", now=NOW)
    noon, one = instants("2026-01-14T12:00:00Z", "2026-01-14T13:00:00Z")
    assert plan.between(noon, one) == [one]
    assert plan.between(noon - timedelta(seconds=1), one) == [noon, one]


def test_a_refusal_is_a_bad_request_with_a_code():
    with pytest.raises(IntentError) as caught:
        when("every day at nien", now=NOW)
    refusal = caught.value
    assert isinstance(refusal, BadRequest)
    assert (refusal.code, refusal.http_status, refusal.exit_code, refusal.field) == (
        "INTENT",
        422,
        64,
        "when",
    )
    assert refusal.text[refusal.position : refusal.position + refusal.length] == "nien"


def test_a_refusal_shows_the_text_with_a_caret_under_the_word():
    with pytest.raises(IntentError) as caught:
        when("every wednsday at 9am", now=NOW)
    assert str(caught.value).splitlines() == [
        "“wednsday” is not a word it knows; wednesday?",
        "  every wednsday at 9am",
        "        ^^^^^^^^",
        "try: every wednesday at 9am | every wednesdays at 9am",
    ]


def test_an_ambiguous_phrase_names_both_readings():
    with pytest.raises(IntentError) as caught:
        when("next friday at 5pm", now=NOW)
    assert caught.value.message == "“next friday” is 2026-01-16 to some and 2026-01-23 to others."
    assert caught.value.suggestions == ("2026-01-16 at 5pm", "2026-01-23 at 5pm")


def test_an_unknown_default_zone_is_refused():
    with pytest.raises(IntentError, match="not a time zone"):
        when("every minute", now=NOW, tz="Nowhere/City")


@pytest.mark.parametrize("zone", ["EST", "CET", "GB", "Etc/GMT+2", "US/Eastern", "Japan", "gmt"])
def test_legacy_names_of_zones_read_back(zone):
    plan = when("every day at 09:00", now=NOW, tz=zone)
    assert when(plan.sentence, now=NOW) == plan


def test_a_long_text_is_refused():
    with pytest.raises(IntentError, match="at most"):
        when("every day at 9am and " * 1_000, now=NOW)


def test_a_schedule_of_very_many_times_reads_back():
    for text in ("at minutes 1 to 59 past hours 0 to 23 every day", "1-59/2 1-23/2 1-31/2 1-11 *"):
        plan = when(text, now=NOW)
        assert read_sentence(plan.sentence) == plan
    plan = when("every day 00:30 to 23:30 on minutes 0 to 58", now=NOW)
    assert read_sentence(plan.sentence) == plan


def test_the_folder_is_pure():
    """Nothing of Kairos but its errors, and nothing that was not shipped with Python."""
    allowed = {
        "__future__",
        "bisect",
        "calendar",
        "collections",
        "dataclasses",
        "datetime",
        "difflib",
        "functools",
    }
    allowed |= {
        "hashlib",
        "heapq",
        "itertools",
        "math",
        "re",
        "types",
        "typing",
        "unicodedata",
        "zoneinfo",
        "kairos.errors",
    }
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            for name in names:
                own = name == "kairos.schedule" or name.startswith("kairos.schedule.")
                assert own or name in allowed or name.split(".")[0] in allowed - {"kairos.errors"}, (
                    f"{path.name}: {name}"
                )


@pytest.mark.parametrize(
    "text",
    [
        "every weekday at 9am in London",
        "every other friday at 3pm from 2001-01-05",
        "every 45 seconds from 1990-01-01",
        "every 15 minutes between 9 and 17 on weekdays",
        "*/15 9-17 * * 1-5",
        "last business day of each month at 5pm",
    ],
)
def test_reading_and_ticking_are_quick_however_long_ago_it_started(text):
    """Generous bounds for a busy machine; the real ones are in the benchmark."""
    when(text, now=NOW)
    plan, reading = min((timed(lambda: when(text, now=NOW)) for _ in range(30)), key=lambda both: both[1])
    _, ticking = min(
        (timed(lambda: plan.ticks(after=NOW, limit=10)) for _ in range(30)), key=lambda both: both[1]
    )
    assert reading < 0.002
    assert ticking < 0.005


def timed(call):
    start = time.perf_counter()
    value = call()
    return value, time.perf_counter() - start
