"""One declaration per noun: its row, its document, its schema and the reading of a document follow from it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pytest
import typer.main

from kairos import Backoff, JobState, Kairos, serializers
from kairos.api import build
from kairos.api.schemas.base import model_of
from kairos.cli.filter_options import flag
from kairos.cli.jobs import app as jobs_commands
from kairos.errors import BadRequest
from kairos.shapes import document, parse, read
from kairos.shapes.alarm import Alarm
from kairos.shapes.audit import AuditRow
from kairos.shapes.ended_job import EndedJob
from kairos.shapes.error_group import ErrorGroup
from kairos.shapes.history import HistoryRow
from kairos.shapes.job import Job, JobError, Retry
from kairos.shapes.job_filters import FILTERS, Filters
from kairos.shapes.key import Key
from kairos.shapes.log_line import LogRow
from kairos.shapes.machine import MachineRow
from kairos.shapes.queue import Queue, Rate
from kairos.shapes.schedule import Schedule, Tick
from kairos.shapes.shape import Shown, shape, shapes
from kairos.shapes.signal import SignalRow
from kairos.shapes.webhook import Delivery, Webhook
from kairos.shapes.worker import WorkerRow

AT = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
PERIOD = timedelta(seconds=90)
EXAMPLES: list[Any] = [
    Job(
        7, "send", 1, JobState.FAILED, "run", 2, "mail", -5, "k", ("a", "b"), {"to": [1]}, "sent", "E", "broke", 0.5,
        AT, AT, AT, AT, AT, AT, "why", Backoff(2, 90.0, 2.0, 3600.0, 0.1), 1, 2, "nightly", "w", ("go",), AT,
        unique="u", created_by="key:1", request_id="r", trace="t", error_group="0123456789abcdef",
    ),
    Job(7, "send", 1, JobState.PENDING, "run", 0, "mail", 0, None, (), {}, inserted_at=AT, run_at=AT),
    HistoryRow(1, "fail", "running", "failed", "run", 2, "w", "key:1", "broke", AT, AT, AT, {"paid": 1}),
    ErrorGroup("0123456789abcdef", "send", "ValueError", "app/mail.py:7 in send", "broke", 3, (0, 3), AT, AT, 7),
    EndedJob(7, JobState.SUCCESS, AT, 1.5, None),
    LogRow(1, AT, "info", "hello", {"n": 1}, "run", 0, "stdout"),
    SignalRow(1, "paid", {"sum": 1}, "once", AT, AT),
    Queue("mail", AT, 5, 100, PERIOD, 2, 10, PERIOD, 1, 2, 3, 4, at_least=("pending",)),
    Queue("mail", None, None, None, None, 1, None, None),
    WorkerRow("w", "host", 1, ["mail"], ["send"], 20, AT, AT, AT, AT, False, 3),
    MachineRow("send", 1, "mail", PERIOD, "run", {"type": "object"}, {"states": ["run"]}, ("to",), {}, AT, 2, ("to",)),
    Schedule(
        "nightly", "daily at 3", "every day at 03:00", "UTC", "send", {"to": 1}, "mail", "skip", "last", PERIOD, PERIOD,
        AT, AT, 5, 4, AT, "why", "app", next_ticks=(AT, AT),
    ),
    Tick("nightly", AT, 7, None, AT),
    Alarm(1, "jobs_failed", "send", "error", "broke", "look", 2, AT, AT, AT, "key:1", AT),
    Webhook(1, "https://example.com", ("jobs_failed",), AT, AT, Delivery(7, "failed", AT, "broke")),
    Key("1", "billing", ("read", "admin"), AT, "cli", AT, AT, AT),
    AuditRow(1, AT, "key:1", "POST /api/jobs", "job:7", "r", 202, {"changed": ["queue"]}),
]  # fmt: skip
# The fields that documents do not show, and the reader of a document therefore has to know.
UNSHOWN = {
    MachineRow: ("step", "diagram", "options"),
    Tick: ("schedule",),
    Webhook: ("paused_at",),
}


def test_every_noun_has_an_example() -> None:
    parts = {JobError, Retry, Rate, Delivery}
    assert {cls for cls in shapes() if cls.__module__.startswith("kairos.")} - parts == set(
        map(type, EXAMPLES)
    )


@pytest.mark.parametrize("value", EXAMPLES, ids=lambda value: type(value).__name__)
def test_a_document_fits_its_schema_and_is_read_back_as_the_same_value(value: Any) -> None:
    shown = json.loads(serializers.encode(document(value)))
    model_of(type(value)).model_validate(shown)
    known = {name: getattr(value, name) for name in UNSHOWN.get(type(value), ())}
    assert parse(type(value), shown, **known) == value


HISTORY = {
    "id": 1, "verb": "done", "from_state": "running", "to_state": "success", "step": "run", "attempt": 0,
    "worker": None, "actor": None, "reason": None, "started_at": None, "at": AT, "due_at": None, "state": None,
}  # fmt: skip


def test_a_new_column_of_history_is_one_line() -> None:
    @shape("Change")
    @dataclass(frozen=True, slots=True)
    class Change(HistoryRow):
        host_name: str | None = None  # this line

    change = read(Change, {**HISTORY, "host_name": "a"})
    shown = json.loads(serializers.encode(document(change)))
    assert change.host_name == shown["hostName"] == "a"
    assert "hostName" in model_of(Change).model_json_schema()["required"]
    assert parse(Change, shown) == change


def test_a_column_and_a_member_may_have_names_of_their_own() -> None:
    @shape("Change")
    @dataclass(frozen=True, slots=True)
    class Change(HistoryRow):
        took: Annotated[timedelta, Shown("seconds", column="duration")] = PERIOD

    change = read(Change, {**HISTORY, "duration": PERIOD})
    shown = json.loads(serializers.encode(document(change)))
    assert (change.took, shown["seconds"]) == (PERIOD, 90.0)
    assert model_of(Change).model_json_schema()["properties"]["seconds"]["type"] == "number"
    assert parse(Change, shown) == change


def test_a_member_that_an_older_service_does_not_send_has_its_default() -> None:
    shown = document(EXAMPLES[0])
    del shown["trace"]
    assert parse(Job, json.loads(serializers.encode(shown))) == replace(EXAMPLES[0], trace=None)


def test_a_field_that_is_no_column_stands_after_those_that_are() -> None:
    @dataclass
    class Wrong:
        first: Annotated[int, Shown(column=None)]
        second: int

    with pytest.raises(TypeError, match="come first"):
        shape("Wrong")(Wrong)


def test_every_filter_of_jobs_is_a_parameter_a_member_and_an_option() -> None:
    names = [each.name for each in FILTERS]
    openapi = build(Kairos("postgresql://nobody@localhost/none")).openapi()
    query = [each["name"] for each in openapi["paths"]["/api/jobs"]["get"]["parameters"]]
    assert set(query) == {*names, "cursor", "limit"}
    assert list(openapi["components"]["schemas"]["Filter"]["properties"]) == names
    options = {option for each in _ls().params for option in each.opts}
    assert {flag(each) for each in FILTERS} <= options
    assert "--retry-of" in options


def test_a_filter_that_there_is_none_of_is_refused_by_name() -> None:
    with pytest.raises(BadRequest, match=r"There is no filter 'quue'\. Did you mean 'queue'\?"):
        Filters.of({"quue": "mail"})


def _ls() -> Any:
    group: Any = typer.main.get_command(jobs_commands)
    return group.commands["ls"]
