"""The stored form of a plan: every plan round-trips, and what an earlier release stored is still read."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from tests.intent.tables import NOW, rows
from tests.intent.values import schedules

from kairos.errors import PlanUnreadable
from kairos.schedule import Plan, when
from kairos.schedule.plan.recurrence import (
    Calendar,
    DayRule,
    Interval,
    Once,
    Recurrence,
    RRule,
    Step,
    Times,
    Window,
)
from kairos.schedule.plan.stored import VERSION

# Never edit one of these: they are what databases hold.
STORED = [
    (
        '{"version": 1, "zone": "Europe/Berlin", "rules": [{"kind": "Calendar", '
        '"times": {"kind": "Times", "at": [32400]}, "days": [{"kind": "DayRule", "weekdays": [4]}], '
        '"step": {"kind": "Step", "every": 2, "unit": "week", "anchor": "2026-11-20"}}], '
        '"start": "2026-11-20", "end": "2027-01-01T08:00:00+00:00", '
        '"exceptions": [{"kind": "DayRule", "months": [12], "days": [24]}], "holidays": ["shop"]}',
        Recurrence(
            (Calendar(Times((32400,)), (DayRule(weekdays=(4,)),), Step(2, "week", date(2026, 11, 20))),),
            "Europe/Berlin",
            date(2026, 11, 20),
            datetime(2027, 1, 1, 8, tzinfo=UTC),
            (DayRule(months=(12,), days=(24,)),),
            ("shop",),
        ),
    ),
    (
        '{"version": 1, "zone": "UTC", "rules": [{"kind": "Interval", "seconds": 420, '
        '"anchor": "2026-11-16T19:33:02+00:00"}, {"kind": "Once", "at": "2026-11-17T09:00:00+00:00"}, '
        '{"kind": "Calendar", "times": {"kind": "Window", "opens": 0, "closes": 3600, "every": 60}}]}',
        Recurrence(
            (
                Interval(420, datetime(2026, 11, 16, 19, 33, 2, tzinfo=UTC)),
                Once(datetime(2026, 11, 17, 9, tzinfo=UTC)),
                Calendar(Window(0, 3600, 60)),
            ),
            "UTC",
        ),
    ),
    (
        '{"version": 1, "zone": "Europe/Berlin", "rfc5545_gaps": true, "rules": [{"kind": "RRule", '
        '"frequency": "YEARLY", "start": "2026-05-11T02:30:00", "week_numbers": [20], "by_day": [[0, 0]], '
        '"excluded": ["2027-05-17T00:30:00+00:00"]}]}',
        Recurrence(
            (
                RRule(
                    "YEARLY",
                    datetime(2026, 5, 11, 2, 30),
                    week_numbers=(20,),
                    by_day=((0, 0),),
                    excluded=(datetime(2027, 5, 17, 0, 30, tzinfo=UTC),),
                ),
            ),
            "Europe/Berlin",
            rfc5545_gaps=True,
        ),
    ),
]


def stored_and_read(plan: Plan) -> Plan:
    return Plan.from_json(json.loads(json.dumps(plan.to_json())))


@settings(
    max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
@given(schedules())
def test_any_plan_is_the_same_after_it_was_stored(recurrence):
    assert stored_and_read(Plan(recurrence)) == Plan(recurrence)


def test_the_plan_of_every_phrase_is_the_same_after_it_was_stored():
    for row in rows("phrases"):
        plan = when(row["when"], now=NOW)
        read = stored_and_read(plan)
        assert read == plan, row["when"]
        assert (read.sentence, read.ticks(NOW, 3)) == (plan.sentence, plan.ticks(NOW, 3))


@pytest.mark.parametrize(("document", "recurrence"), STORED)
def test_what_an_earlier_release_stored_is_still_read(document, recurrence):
    assert Plan.from_json(json.loads(document)).recurrence == recurrence
    assert json.loads(json.dumps(Plan(recurrence).to_json())) == json.loads(document) | {"version": VERSION}


def test_a_plan_of_a_newer_format_is_refused_by_name():
    document = when("every minute").to_json() | {"version": VERSION + 1, "new": True}
    with pytest.raises(PlanUnreadable, match="upgrade") as caught:
        Plan.from_json(document)
    assert caught.value.version == VERSION + 1


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        {"version": "1"},
        {"version": 0},
        {"version": 1},
        {"version": 1, "zone": "UTC", "rules": [{"kind": "Nothing"}]},
        {"version": 1, "zone": "UTC", "rules": [{"at": "2026-01-01T00:00:00+00:00"}]},
        {"version": 1, "zone": "UTC", "rules": [{"kind": "Once", "at": "soon"}]},
        {
            "version": 1,
            "zone": "UTC",
            "rules": [{"kind": "Interval", "seconds": "5", "anchor": "2026-01-01"}],
        },
        {"version": 1, "zone": "UTC", "rules": [], "more": 1},
    ],
    ids=str,
)
def test_a_document_that_is_no_plan_is_refused(document):
    with pytest.raises(PlanUnreadable):
        Plan.from_json(document)
