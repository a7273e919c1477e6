"""What people write means exactly these instants, and one canonical sentence says so."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from tests.every_row import every_row
from tests.intent.tables import NOW, instants, rows

from kairos.schedule import IntentError, when
from kairos.schedule.parse import read_sentence

PHRASES = rows("phrases")
REFUSALS = rows("refusals")


def test_the_tables_are_large_enough():
    assert len(PHRASES) >= 400
    assert len(REFUSALS) >= 200
    assert len({row["when"] for row in PHRASES}) == len(PHRASES)
    assert len({row["when"] for row in REFUSALS}) == len(REFUSALS)


def test_each_kind_that_people_misread_has_dozens_of_phrases():
    counted = Counter(row["kind"] for row in (*PHRASES, *REFUSALS) if "kind" in row)
    assert {kind: count for kind, count in counted.items() if count < 12} == {}
    assert set(counted) == {
        "rrule",
        "places",
        "every nth weekday",
        "minute without hour",
        "cron question marks",
        "midnight beside a weekday",
        "seconds and offsets",
        "two times joined",
        "feast days",
    }


@every_row(PHRASES)
def test_a_phrase_fires_at_exactly_these_instants(row):
    plan = when(row["when"], now=NOW)
    expected = instants(*row["next"])
    assert plan.ticks(after=NOW, limit=len(expected)) == expected
    if row.get("ends"):
        assert plan.ticks(after=NOW, limit=len(expected) + 1) == expected


@every_row(PHRASES)
def test_a_phrase_has_one_sentence_that_means_the_same_whenever_it_is_read(row):
    plan = when(row["when"], now=NOW)
    assert plan.sentence == row["sentence"]
    assert when(plan.sentence, now=NOW, tz="Asia/Tokyo") == plan
    assert read_sentence(plan.sentence) == plan
    later = NOW + timedelta(days=401, seconds=12_345)
    if plan.ticks(after=later, limit=1):
        assert when(plan.sentence, now=later) == plan


@every_row(REFUSALS)
def test_a_bad_phrase_is_refused_at_its_word_with_a_reason(row):
    with pytest.raises(IntentError) as caught:
        when(row["when"], now=NOW)
    refusal = caught.value
    assert refusal.message == row["message"]
    assert refusal.position == row["position"]
    assert row["when"][refusal.position : refusal.position + refusal.length] == row["at"]


@every_row(REFUSALS)
def test_every_suggestion_is_itself_understood(row):
    with pytest.raises(IntentError) as caught:
        when(row["when"], now=NOW)
    assert caught.value.suggestions
    for suggestion in caught.value.suggestions:
        assert when(suggestion, now=NOW).ticks(after=NOW, limit=1)


@every_row([row for row in PHRASES if "\n" not in row["when"]])  # a rule may have several lines
def test_a_phrase_with_a_foreign_word_in_it_is_never_half_understood(row):
    with pytest.raises(IntentError):
        when(f"{row['when']} xyzzy", now=NOW)
    with pytest.raises(IntentError):
        when(f"xyzzy {row['when']}", now=NOW)
