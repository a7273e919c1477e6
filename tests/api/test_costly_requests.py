"""Requests that are cheap to send and could be costly to answer: the work that they cause is bounded."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from tests.api.service_process import Served, Shared

from kairos import Kairos
from kairos.api.body_faults import MOST_FAULTS
from kairos.api.request_body import MOST_VALUES
from kairos.api.routes.sessions import BODY_LIMIT
from kairos.api.schemas.jobs import BatchWanted, BulkWanted, JobWanted
from kairos.errors import BadArguments
from kairos.operations import audit as log
from kairos.operations.audit import AuditedRequest, AuditedResponse

JSON = {"Content-Type": "application/json"}
UNKNOWN = {f"{number:x}": 0 for number in range(5000)}


def tagged(jobs: int, tags: int) -> dict[str, Any]:
    return {"jobs": [{"action": "echo", "tags": [""] * tags} for _ in range(jobs)]}


@pytest.mark.parametrize(
    ("path", "body", "faults", "first"),
    [
        ("/api/jobs", {"action": "echo", **UNKNOWN}, 5000, "0"),
        ("/api/jobs", UNKNOWN, 5001, "0"),
        ("/api/jobs/batch", tagged(1000, 99), 99_000, "jobs[0].tags[0]"),
        ("/api/jobs/batch", tagged(1, 21), 21, "jobs[0].tags[0]"),
        ("/api/jobs/batch", tagged(21, 1), 21, "jobs[0].tags[0]"),
        ("/api/jobs/batch", {"jobs": [{"retry": {"attempts": 0, "base": "x"}, **UNKNOWN}] * 3}, 15_009, None),
        ("/api/jobs/bulk/cancel", {"filter": UNKNOWN}, 5000, "filter.0"),
    ],
    ids=["unknown", "unknown and missing", "tags", "tags of a job", "jobs with a tag", "nested", "a filter"],
)
def test_an_answer_lists_the_first_faults_and_counts_the_others(
    open_service: Shared, path: str, body: dict[str, Any], faults: int, first: str | None
) -> None:
    answer = open_service.http.post(path, json=body)
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert len(error["details"]["errors"]) == MOST_FAULTS
    assert error["details"]["more"] == faults - MOST_FAULTS
    assert f"and {faults - MOST_FAULTS:,} more" in error["message"]
    assert first is None or error["details"]["field"] == first
    assert len(answer.content) < 300 * MOST_FAULTS  # each may list the fields that there are


@pytest.mark.parametrize(
    ("path", "body"), [("/api/jobs/batch", tagged(1, 20)), ("/api/jobs/batch", tagged(20, 1))]
)
def test_as_many_faults_as_are_listed_are_not_counted(
    open_service: Shared, path: str, body: dict[str, Any]
) -> None:
    error = open_service.http.post(path, json=body).json()["error"]
    assert len(error["details"]["errors"]) == MOST_FAULTS
    assert "more" not in error["details"] and "more" not in error["message"]


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (JobWanted, UNKNOWN),
        (BatchWanted, tagged(1000, 99)),
        (BatchWanted, {"jobs": [UNKNOWN] * 30}),
        (BulkWanted, {"filter": UNKNOWN}),
    ],
    ids=["unknown", "tags", "unknown in a batch", "a filter"],
)
def test_the_faults_that_are_not_listed_are_not_built(model: type[BaseModel], body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as refused:
        model.model_validate(body)
    assert refused.value.error_count() == MOST_FAULTS + 1


def test_the_values_of_one_body_are_not_counted_with_those_of_the_next() -> None:
    for _ in range(2):
        with pytest.raises(ValidationError) as refused:
            JobWanted.model_validate({"action": "echo", "tags": [""]})
        assert refused.value.error_count() == 1
        with pytest.raises(ValidationError) as refused:
            BatchWanted.model_validate(tagged(2, 99))
        assert refused.value.errors()[-1]["ctx"] == {"more": 2 * 99 - MOST_FAULTS}


def test_a_long_name_of_an_unknown_field_is_cut(open_service: Shared) -> None:
    answer = open_service.http.post("/api/jobs", json={"action": "echo", "K" * 100_000: 0})
    assert answer.status_code == 422
    assert answer.json()["error"]["details"]["field"] == "K" * 99 + "…"
    assert len(answer.content) < 1000


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"numbers": ["x"] * 5000}, "add: arguments: 5,000 values are wrong."),
        ({"numbers": ["x"] * 5000, **UNKNOWN}, "add takes no argument '0'. Known: numbers."),
        ({"K" * 100_000: 0}, f"add takes no argument '{'K' * 99}…'. Known: numbers."),
    ],
    ids=["wrong", "wrong and unknown", "a long name"],
)
def test_of_very_many_faults_of_arguments_one_is_described(arguments: dict[str, Any], says: str) -> None:
    """Pydantic takes 20 microseconds to describe one: 80,000 of a request stopped the service for two seconds."""
    app = Kairos("postgresql://nowhere/at_all")

    @app.job
    def add(numbers: list[int]) -> int:
        return sum(numbers)

    with pytest.raises(BadArguments) as refused:
        add.call(**arguments)
    assert refused.value.message == says


@pytest.mark.parametrize(("chunks", "status"), [(19_000, 422), (60_000, 413)])
def test_a_body_may_have_twenty_thousand_chunks(open_service: Shared, chunks: int, status: int) -> None:
    """Each costs time, however small it is: twenty bodies in chunks of one byte stopped the service for seconds."""
    begin = b"POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", open_service.port), timeout=30) as connection:
        connection.sendall(begin + b"Transfer-Encoding: chunked\r\n\r\n")
        connection.sendall(b"1\r\n \r\n" * chunks + b"2\r\n{}\r\n0\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 %d " % status)


def signing_in(size: int) -> bytes:
    """A body of exactly so many bytes that is refused for its key."""
    empty = len(b'{"key":""}')
    return b'{"key":"' + b"k" * (size - empty) + b'"}'


@pytest.mark.parametrize("chunked", [False, True], ids=["with its length", "in chunks"])
@pytest.mark.parametrize(("size", "status"), [(BODY_LIMIT, 422), (BODY_LIMIT + 1, 413)])
def test_a_sign_in_may_take_four_kibibytes(
    open_service: Shared, size: int, status: int, chunked: bool
) -> None:
    body = signing_in(size)
    assert (len(body), BODY_LIMIT) == (size, 4096)
    sent = (body[start : start + 500] for start in range(0, size, 500)) if chunked else body
    answer = open_service.http.post("/api/session", content=sent, headers=JSON)
    assert answer.status_code == status, answer.text
    if status == 413:
        assert answer.json()["error"]["code"] == "TOO_LARGE" and "4096" in answer.json()["error"]["message"]


async def test_a_long_sign_in_is_refused_before_it_is_sent(served: Served, app: Kairos) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(
        b"POST /api/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 1000000\r\n\r\n"
    )
    assert (await asyncio.wait_for(reader.readline(), 15)).startswith(b"HTTP/1.1 413 ")
    writer.close()
    (row,) = await app.run(log.audit())
    assert (row.verb, row.status) == ("signIn", 413)


@pytest.mark.parametrize("value", ["[]", "{}", "0"])
def test_a_body_has_a_limit_of_values(open_service: Shared, value: str) -> None:
    for values, is_refused in ((MOST_VALUES - 3, False), (MOST_VALUES, True)):
        body = f'{{"name":[{",".join([value] * (values // (1 if value == "0" else 2)))}]}}'
        error = open_service.http.post("/api/keys", content=body, headers=JSON).json()["error"]
        assert (error["code"] == "BAD_VALUE") is is_refused
        assert (f"{MOST_VALUES:,}" in error["message"]) is is_refused


def test_commas_and_brackets_in_text_are_no_values(open_service: Shared) -> None:
    body = json.dumps({"name": '[{,\\"' * (MOST_VALUES // 4), "scopes": ["read"]})
    assert body.count(",") + body.count("[") + body.count("{") > MOST_VALUES / 2
    error = open_service.http.post("/api/keys", content=body, headers=JSON).json()["error"]
    assert error["details"]["field"] == "name" and "255" in error["message"]


def test_a_full_batch_of_jobs_is_far_from_the_limit_of_values(open_service: Shared) -> None:
    job = {"action": "none", "input": {f"argument_{n}": n for n in range(40)}, "tags": ["a", "b"], "key": "k"}
    body = {"jobs": [job] * 1000}
    assert len(json.dumps(body)) > 700_000
    error = open_service.http.post("/api/jobs/batch", json=body).json()["error"]
    assert error["code"] == "UNKNOWN_ACTION"


def test_a_list_of_states_is_no_longer_than_there_are_states(open_service: Shared) -> None:
    http = open_service.http
    for count, status in ((8, 200), (9, 422)):
        states = ["failed"] * count
        assert http.get("/api/jobs", params={"state": states}).status_code == status
        asked = {"filter": {"state": states}, "dryRun": True}
        assert http.post("/api/jobs/bulk/cancel", json=asked).status_code == status


def test_a_list_of_arguments_is_as_long_as_the_filter_takes(open_service: Shared) -> None:
    http = open_service.http
    for count, status in ((10, 200), (11, 422)):
        searched = [f"a:{number}" for number in range(count)]
        assert http.get("/api/jobs", params={"input": searched}).status_code == status
        asked = {"filter": {"input": searched}, "dryRun": True}
        assert http.post("/api/jobs/bulk/cancel", json=asked).status_code == status


def test_other_lists_in_a_body_have_a_limit(open_service: Shared) -> None:
    schedule = {"name": "a", "when": "every hour", "action": "x", "tags": ["a"] * 101}
    hook = {"url": "https://example.com/hook", "kinds": ["jobs_failed"] * 101}
    for method, path, body, field in (
        ("POST", "/api/schedules", schedule, "tags"),
        ("PATCH", "/api/schedules/a", {"tags": schedule["tags"]}, "tags"),
        ("POST", "/api/webhooks", hook, "kinds"),
        ("PATCH", "/api/webhooks/1", {"kinds": hook["kinds"]}, "kinds"),
    ):
        answer = open_service.http.request(method, path, json=body)
        assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (422, field)


async def test_the_audit_log_keeps_a_bounded_part_of_the_details(served: Served, app: Kairos) -> None:
    writer = served.service.audit_writer
    long = {"filter": {"state": ["failed"] * 5000, "text": "x" * 5000}, "dryRun": True, "matched": 7}
    kept = {
        "filter": {"state": [*["failed"] * 20, "and 4,980 more"], "text": "x" * 499 + "…"},
        "dryRun": True,
        "matched": 7,
    }
    row = await writer.begin(AuditedRequest("local", "one", None, "r1", 422, long))
    assert (await app.run(log.audit()))[0].details == kept
    row = await writer.begin(AuditedRequest("local", "two", None, "r2"))
    await writer.end(AuditedResponse(row, 200, long))
    assert (await app.run(log.audit()))[0].details == kept
    names = {f"name{number}": number for number in range(30)}
    await writer.begin(AuditedRequest("local", "three", None, "r3", 422, names))
    details = (await app.run(log.audit()))[0].details
    assert details is not None and (len(details), details["…"]) == (21, "and 10 more")
