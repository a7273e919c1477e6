"""The built-in `http`, in a real worker against a real server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.actions.conftest import Canary, answer

from kairos import Kairos
from kairos.errors import BadRequest, EgressRefused, JobFailed, UnknownAction


@pytest.fixture
async def app(database: str) -> AsyncIterator[Kairos]:
    async with Kairos(database, actions=["http"], http_allow=["127.0.0.1"]) as app, app.worker(poll=0.1):
        yield app


async def call(app: Kairos, canary: Canary, path: str = "/", **given: Any) -> Any:
    job = await app.action("http").enqueue(url=f"http://127.0.0.1:{canary.port}{path}", **given)
    return await app.result(job.id, timeout=30)


async def failure(app: Kairos, canary: Canary, **given: Any) -> JobFailed:
    with pytest.raises(JobFailed) as failed:
        await call(app, canary, **given)
    return failed.value


async def test_the_answer_is_the_result_without_its_cookies(app: Kairos, canary: Canary) -> None:
    canary.answer = answer(
        "200 OK", "Content-Type: application/json", "Set-Cookie: secret=1", body=b'{"a": [1]}'
    )
    result = await call(app, canary)
    assert (result["status"], result["json"], result["truncated"]) == (200, {"a": [1]}, False)
    assert result["headers"]["content-type"] == "application/json"
    assert "secret" not in json.dumps(result)


async def test_a_body_goes_out_as_it_was_given(app: Kairos, canary: Canary) -> None:
    await call(app, canary, method="POST", json={"n": 1}, headers={"X-Token": "t"})
    await call(app, canary, method="PUT", body="plain")
    first, second = canary.requests
    assert first.startswith("POST / ") and first.endswith('{"n":1}') and "x-token: t" in first.lower()
    assert second.startswith("PUT / ") and second.endswith("plain")


async def test_every_attempt_of_a_job_carries_the_same_idempotency_key(app: Kairos, canary: Canary) -> None:
    answers = iter([answer("503 Busy", body=b"later"), answer("200 OK")])
    canary.answer = lambda _: next(answers)
    job = await app.action("http").enqueue(url=f"http://127.0.0.1:{canary.port}/", attempts=2)
    await app.result(job.id, timeout=30)
    keys = [
        line for asked in canary.requests for line in asked.splitlines() if "idempotency-key" in line.lower()
    ]
    assert len(keys) == 2 and set(keys) == {f"Idempotency-Key: kairos-{job.id}"}


async def test_another_status_than_expected_is_a_failure_that_tells_it(app: Kairos, canary: Canary) -> None:
    canary.answer = answer("404 Not Found", body=b"no such page")
    job = (await failure(app, canary, attempts=1)).job
    assert (job.error_code, "404" in job.error, "no such page" in job.error) == (
        "UNEXPECTED_STATUS",
        True,
        True,
    )
    assert (await call(app, canary, expect=404))["status"] == 404
    assert (await call(app, canary, expect=[200, 404]))["status"] == 404


async def test_a_host_that_is_not_listed_is_refused_once_and_for_all(app: Kairos, canary: Canary) -> None:
    job = await app.action("http").enqueue(url=f"http://127.0.0.2:{canary.port}/")
    with pytest.raises(JobFailed) as failed:
        await app.result(job.id, timeout=30)
    assert (failed.value.job.error_code, failed.value.job.attempt) == ("EGRESS_REFUSED", 0)
    assert canary.requests == []


async def test_binary_and_broken_answers_are_kept_as_what_they_are(app: Kairos, canary: Canary) -> None:
    canary.answer = answer("200 OK", body=b"\x00\xff")
    assert (await call(app, canary))["base64"] == "AP8="
    canary.answer = answer("200 OK", "Content-Type: application/json", body=b'{"a": NaN}')
    assert (await call(app, canary))["body"] == '{"a": NaN}'


async def test_a_long_answer_is_cut_and_said_to_be(app: Kairos, canary: Canary) -> None:
    canary.answer = answer("200 OK", body=b"\x01" * 1_000_000)
    result = await call(app, canary)
    assert (result["truncated"], len(result["body"]) < 200_000) == (True, True)


async def test_headers_are_shown_to_nobody(app: Kairos) -> None:
    machine = app.registry.latest("http")
    assert machine.redact == {"headers"}


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"url": "ftp://example.com"}, EgressRefused),
        ({"url": "http://user:pass@example.com"}, EgressRefused),
        ({"url": "http://example.com", "timeout": "soon"}, BadRequest),
        ({"url": "http://example.com", "expect": 42}, BadRequest),
        ({"url": "http://example.com", "attempts": 0}, BadRequest),
        ({}, BadRequest),
    ],
    ids=["scheme", "password", "timeout", "status", "attempts", "nothing"],
)
def test_what_could_never_be_called_is_refused_when_it_is_asked_for(given: Any, error: Any) -> None:
    app = Kairos("postgresql://nowhere", actions=["http"])
    with pytest.raises(error):
        app.action("http").call(**given)


def test_it_is_off_until_it_is_turned_on_and_says_how() -> None:
    with pytest.raises(UnknownAction, match=r'actions = \["http"\]'):
        Kairos("postgresql://nowhere").action("http")
