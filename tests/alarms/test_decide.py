"""What becomes of alarms, decided without a database: raised once, refreshed, cleared, raised anew."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.every_row import every_row

from kairos.alarms.decide import Found, Open, decide
from kairos.alarms.kinds import KINDS, QUIET_AFTER

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
US = timedelta(microseconds=1)
STATE, EVENT = "jobs_overdue", "jobs_failed"


def found(kind: str, *, count: int = 1, at: datetime = NOW, subject: str = "a") -> Found:
    return Found(kind, subject, count, at, at, job=7, detail="it broke")


def opened(
    kind: str, *, count: int = 1, at: datetime = NOW - timedelta(hours=1), ack: datetime | None = None
) -> Open:
    return Open(5, kind, "a", count, at, at, ack)


def test_what_is_found_for_the_first_time_is_reported_and_nothing_is_cleared() -> None:
    changes = decide({STATE}, [found(STATE, count=3), found(EVENT, count=2)], [], NOW)
    assert changes.clear == []
    assert [(each.kind, each.count, each.first_at, each.last_at) for each in changes.report] == [
        (STATE, 3, NOW, NOW),
        (EVENT, 2, NOW, NOW),
    ]


def test_of_a_state_the_count_is_how_it_stands_and_of_events_how_often_they_happened() -> None:
    before = [opened(STATE, count=10), Open(6, EVENT, "a", 10, NOW, NOW)]
    changes = decide({STATE}, [found(STATE, count=3), found(EVENT, count=3)], before, NOW)
    assert (changes.clear, [each.count for each in changes.report]) == ([], [3, 13])


def test_an_alarm_keeps_when_it_was_first_raised() -> None:
    before = opened(STATE)
    (report,) = decide({STATE}, [found(STATE)], [before], NOW).report
    assert (report.first_at, report.last_at) == (before.first_at, NOW)


def test_a_state_that_is_gone_is_cleared_but_only_by_one_who_looked_for_it() -> None:
    assert decide({STATE}, [], [opened(STATE)], NOW).clear == [5]
    assert decide({"jobs_waiting"}, [], [opened(STATE)], NOW).clear == []


def test_an_acknowledged_state_stays_until_it_is_gone() -> None:
    before = opened(STATE, ack=NOW)
    changes = decide({STATE}, [found(STATE)], [before], NOW)
    assert (changes.clear, len(changes.report)) == ([], 1)
    assert decide({STATE}, [], [before], NOW).clear == [5]


def test_what_happened_stays_until_it_is_acknowledged_whoever_looks() -> None:
    assert decide({EVENT}, [], [opened(EVENT)], NOW).clear == []
    assert decide(set(), [], [opened(EVENT, ack=NOW)], NOW).clear == [5]


@pytest.mark.parametrize("offset", [-US, 0 * US, US], ids=["before", "at", "after"])
def test_what_has_not_happened_for_a_day_is_cleared(offset: timedelta) -> None:
    before = opened(EVENT, at=NOW - QUIET_AFTER - offset)
    assert decide(set(), [], [before], NOW).clear == ([5] if offset >= 0 * US else [])


@pytest.mark.parametrize("offset", [-US, 0 * US, US], ids=["before", "at", "after"])
def test_what_happens_again_after_a_day_is_a_new_alarm(offset: timedelta) -> None:
    before = opened(EVENT, count=4, at=NOW - QUIET_AFTER - offset)
    changes = decide(set(), [found(EVENT)], [before], NOW)
    is_new = offset >= 0 * US
    assert changes.clear == ([5] if is_new else [])
    assert [each.count for each in changes.report] == [1 if is_new else 5]


@pytest.mark.parametrize("offset", [-US, 0 * US, US], ids=["before", "at", "after"])
def test_what_happens_after_it_was_acknowledged_is_a_new_alarm(offset: timedelta) -> None:
    changes = decide(set(), [found(EVENT, at=NOW + offset)], [opened(EVENT, ack=NOW)], NOW + US)
    assert changes.clear == [5]
    assert len(changes.report) == (1 if offset > 0 * US else 0)


def test_each_subject_has_an_alarm_of_its_own() -> None:
    changes = decide({STATE}, [found(STATE, subject="b")], [opened(STATE)], NOW)
    assert (changes.clear, [each.subject for each in changes.report]) == ([5], ["b"])


def test_a_kind_that_no_longer_exists_is_cleared() -> None:
    assert decide(set(), [], [opened("of another version")], NOW).clear == [5]


@every_row([(kind, count) for kind in KINDS for count in (1, 2, 1000)])
def test_every_kind_says_its_cause_and_remedy_in_whole_sentences(row: tuple[str, int]) -> None:
    kind, count = row
    (report,) = decide({kind}, [found(kind, count=count)], [], NOW).report
    for sentence in (report.cause, report.remedy):
        assert sentence.endswith(".")
        assert "{" not in sentence
        assert "None" not in sentence
    assert "1 jobs" not in report.cause
