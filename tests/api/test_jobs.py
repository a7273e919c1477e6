"""Jobs over HTTP: accepted, looked at and changed, by a real client on a real port."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from tests.api.service_process import Served
from tests.shared_database import database, kept_database, quiet

from kairos import Context, Kairos
from kairos.api.schemas import jobs as schemas
from kairos.testing import drain

__all__ = ["database", "kept_database", "quiet"]


@pytest.fixture
def app(app: Kairos) -> Kairos:
    @app.job(queue="mail", ttl="1h", redact=["token", "card.number"])
    async def send(
        ctx: Context, user_id: int, token: str = "none", card: dict[str, Any] | None = None
    ) -> Any:
        return {"sent": user_id}

    @app.job
    async def fail(ctx: Context) -> None:
        raise ValueError("no")

    return app


async def accepted(http: httpx2.AsyncClient, **body: Any) -> dict[str, Any]:
    answer = await http.post("/api/jobs", json={"action": "send", "input": {"user_id": 7}, **body})
    assert answer.status_code == 202, answer.text
    return answer.json()["job"]  # type: ignore[no-any-return]


async def test_an_accepted_job_is_answered_with_its_place(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/api/jobs", json={"action": "send", "input": {"user_id": 7}})
    assert answer.status_code == 202
    schemas.JobAnswer.model_validate(answer.json())
    job = answer.json()["job"]
    assert (job["state"], job["queue"], job["input"]["user_id"]) == ("pending", "mail", 7)
    assert answer.headers["Location"] == f"/api/jobs/{job['id']}"
    assert (await http.get(answer.headers["Location"])).json()["job"] == job


async def test_a_job_knows_who_asked_for_it_and_over_which_request(http: httpx2.AsyncClient) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    answer = await http.post(
        "/api/jobs", json={"action": "send", "input": {"user_id": 7}}, headers={"traceparent": trace}
    )
    job = answer.json()["job"]
    assert (job["createdBy"], job["requestId"], job["trace"]) == (
        "local",
        answer.headers["X-Request-Id"],
        trace,
    )


async def test_every_option_arrives(http: httpx2.AsyncClient) -> None:
    job = await accepted(
        http,
        runAt="2030-01-01T12:00:00+02:00",
        ttl="10m",
        queue="slow",
        priority=-3,
        key="user:7",
        unique="welcome:7",
        tags=["a", "b"],
    )
    assert (job["runAt"], job["expiresAt"]) == ("2030-01-01T10:00:00Z", "2030-01-01T10:10:00Z")
    assert (job["queue"], job["priority"], job["key"], job["unique"], job["tags"]) == (
        "slow",
        -3,
        "user:7",
        "welcome:7",
        ["a", "b"],
    )
    assert (job["state"], job["can"]) == ("scheduled", ["edit", "run_now", "snooze", "signal", "cancel"])


async def test_a_time_in_words_is_an_instant(http: httpx2.AsyncClient) -> None:
    job = await accepted(http, when="on 2030-06-01 at 9am", tz="Europe/London")
    assert job["runAt"] == "2030-06-01T08:00:00Z"


async def test_a_taken_unique_key_is_a_conflict_that_names_its_holder(http: httpx2.AsyncClient) -> None:
    job = await accepted(http, unique="u")
    second = await http.post("/api/jobs", json={"action": "send", "input": {"user_id": 7}, "unique": "u"})
    assert second.status_code == 409
    assert second.json()["error"]["code"] == "DUPLICATE"
    assert second.json()["error"]["details"]["job"] == job["id"]
    assert (await accepted(http, unique="u", ifTaken="return"))["id"] == job["id"]


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"action": "sned"}, "UNKNOWN_ACTION", "action"),
        ({"action": "send"}, "BAD_ARGUMENTS", "input.user_id"),
        ({"action": "send", "input": {"user_id": "x"}}, "BAD_ARGUMENTS", "input.user_id"),
        ({"action": "send", "input": {"user_id": 7, "more": 1}}, "BAD_ARGUMENTS", "input.more"),
        ({"action": "send", "input": {"user_id": 7}, "when": "next friday"}, "INTENT", "when"),
        ({"action": "send", "input": {"user_id": 7}, "when": "every day at noon"}, "INVALID", "when"),
        (
            {"action": "send", "input": {"user_id": 7}, "when": "at noon", "runAt": "2030-01-01T00:00:00Z"},
            "INVALID",
            "when",
        ),
        (
            {"action": "send", "input": {"user_id": 7}, "ttl": 5, "expiresAt": "2030-01-01T00:00:00Z"},
            "INVALID",
            "ttl",
        ),
        ({"action": "send", "input": {"user_id": 7}, "ttl": "soon"}, "INVALID", "ttl"),
        ({"action": "send", "input": {"user_id": 7}, "runAt": "2030-01-01T00:00:00"}, "INVALID", "runAt"),
        ({"action": "send", "input": {"user_id": 7}, "runAt": 5}, "INVALID", "runAt"),
        ({"action": "send", "input": {"user_id": 7}, "priority": 40000}, "INVALID", "priority"),
        ({"action": "send", "input": {"user_id": 7}, "queue": ""}, "INVALID", "queue"),
        ({"action": "send", "input": {"user_id": 7}, "queue": "a\nb"}, "INVALID", "queue"),
        ({"action": "send", "input": {"user_id": 7}, "ordered": True}, "INVALID", "ordered"),
        ({"action": "send", "input": {"user_id": 7}, "tags": ["x", ""]}, "INVALID", "tags[1]"),
        ({"action": "send", "input": {"user_id": 7}, "colour": "red"}, "INVALID", "colour"),
        ({"action": "send", "input": [7]}, "INVALID", "input"),
        ({"input": {}}, "INVALID", "action"),
        ({"action": "send", "input": {"user_id": 7}, "tz": "Mars/Base", "when": "at noon"}, None, None),
    ],
    ids=lambda value: None if value is None else str(value)[:60],
)
async def test_what_is_wrong_is_refused_with_its_field_and_nothing_is_stored(
    http: httpx2.AsyncClient, app: Kairos, body: dict[str, Any], code: str | None, field: str | None
) -> None:
    answer = await http.post("/api/jobs", json=body)
    assert answer.status_code == 422, answer.text
    error = answer.json()["error"]
    if code is not None:
        assert (error["code"], error["details"]["field"]) == (code, field)
    assert await app.jobs() == []


async def test_an_action_of_nearly_that_name_is_suggested(http: httpx2.AsyncClient) -> None:
    error = (await http.post("/api/jobs", json={"action": "sned"})).json()["error"]
    assert "did you mean 'send'" in error["message"]


async def test_redacted_fields_are_shown_nowhere_and_only_the_step_sees_them(
    http: httpx2.AsyncClient, app: Kairos
) -> None:
    given = {"user_id": 7, "token": "s3cr3t", "card": {"number": "4242", "year": 30}}
    first = await http.post("/api/jobs", json={"action": "send", "input": given})
    job = first.json()["job"]
    assert job["input"] == {**given, "token": "[redacted]", "card": {"number": "[redacted]", "year": 30}}
    await drain(app)
    retried = await http.post(f"/api/jobs/{job['id']}/retry")
    app.registry = type(app.registry)()  # as a service that does not have the code
    texts = [first.text, retried.text]
    for path in (f"/api/jobs/{job['id']}", f"/api/jobs/{retried.json()['job']['id']}", "/api/jobs"):
        texts.append((await http.get(path)).text)
    assert [text for text in texts if "s3cr3t" in text or "4242" in text] == []


@pytest.mark.parametrize("number", ["0", "-1", str(2**63), "9" * 30])
async def test_an_id_that_no_job_has_is_not_found(http: httpx2.AsyncClient, number: str) -> None:
    for method, path in (
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("POST", "/cancel"),
        ("POST", "/retry"),
        ("POST", "/run-now"),
        ("POST", "/snooze"),
        ("GET", "/wait"),
        ("GET", "/history"),
        ("GET", "/signals"),
        ("POST", "/signals"),
    ):
        body: Any = {"priority": 1} if method == "PATCH" else {"name": "x"} if path == "/signals" else None
        answer = await http.request(
            method, f"/api/jobs/{number}{path}", json=body if method != "GET" else None
        )
        assert answer.status_code == 404, (method, path, answer.text)
        assert answer.json()["error"]["code"] == "NOT_FOUND"


@pytest.mark.parametrize("name", ["seven", "-1", "1.5", "1e3", "%00"])
async def test_an_id_that_is_no_number_names_nothing(http: httpx2.AsyncClient, name: str) -> None:
    answer = await http.get(f"/api/jobs/{name}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")


async def test_a_cancelled_job_says_who_and_why(http: httpx2.AsyncClient) -> None:
    job = await accepted(http)
    answer = await http.post(f"/api/jobs/{job['id']}/cancel", json={"reason": "the customer called"})
    assert (answer.status_code, answer.json()["job"]["state"]) == (200, "cancelled")
    history = (await http.get(f"/api/jobs/{job['id']}/history")).json()
    schemas.HistoryAnswer.model_validate(history)
    (change,) = history["history"]
    assert (change["verb"], change["actor"], change["reason"]) == ("cancel", "local", "the customer called")


async def test_a_verb_that_the_lifecycle_does_not_allow_answers_with_those_it_does(
    http: httpx2.AsyncClient,
) -> None:
    job = await accepted(http)
    await http.post(f"/api/jobs/{job['id']}/cancel")
    for path in ("cancel", "run-now"):
        answer = await http.post(f"/api/jobs/{job['id']}/{path}")
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (409, "INVALID_TRANSITION")
        assert (error["details"]["state"], error["details"]["allowed"]) == ("cancelled", ["retry", "delete"])
    live = await accepted(http)
    for method, path in (("POST", "/retry"), ("DELETE", "")):
        answer = await http.request(method, f"/api/jobs/{live['id']}{path}")
        assert (answer.status_code, answer.json()["error"]["details"]["state"]) == (409, "pending")


async def test_a_scheduled_job_is_run_now(http: httpx2.AsyncClient) -> None:
    job = await accepted(http, runAt="2090-01-01T00:00:00Z")
    answer = await http.post(f"/api/jobs/{job['id']}/run-now")
    assert (answer.status_code, answer.json()["job"]["state"]) == (200, "pending")
    history = (await http.get(f"/api/jobs/{job['id']}/history")).json()["history"]
    assert [(row["verb"], row["actor"]) for row in history] == [("run_now", "local")]


async def test_a_retry_is_a_new_job_that_names_the_old_one(http: httpx2.AsyncClient, app: Kairos) -> None:
    old = (await http.post("/api/jobs", json={"action": "fail"})).json()["job"]
    await drain(app)
    assert (await http.get(f"/api/jobs/{old['id']}")).json()["job"]["error"]["message"].endswith("no")
    answer = await http.post(f"/api/jobs/{old['id']}/retry")
    job = answer.json()["job"]
    assert (answer.status_code, job["retryOf"], job["createdBy"]) == (202, old["id"], "local")
    assert (job["requestId"], answer.headers["Location"]) == (
        answer.json()["requestId"],
        f"/api/jobs/{job['id']}",
    )


async def test_a_deleted_job_is_gone_and_counted(http: httpx2.AsyncClient, app: Kairos) -> None:
    job = await accepted(http)
    await http.post(f"/api/jobs/{job['id']}/cancel")
    assert (await http.delete(f"/api/jobs/{job['id']}")).status_code == 200
    for path in ("", "/history", "/signals"):
        assert (await http.get(f"/api/jobs/{job['id']}{path}")).status_code == 404
    async with app.store.connection() as connection:
        rows = await connection.fetch("select status::text, jobs from kairos.purged")
        left = await connection.fetchval("select count(*) from kairos.history")
    assert ([tuple(row) for row in rows], left) == ([("cancelled", 1)], 0)
    assert (await http.delete(f"/api/jobs/{job['id']}")).status_code == 404


async def test_many_jobs_are_accepted_in_one_statement(served: Served) -> None:
    body = {"jobs": [{"action": "send", "input": {"user_id": n}, "unique": f"u{n % 3}"} for n in range(5)]}
    answer = await served.http.post("/api/jobs/batch", json=body)
    assert answer.status_code == 202, answer.text
    schemas.BatchAnswer.model_validate(answer.json())
    found = [(each["isNew"], each["job"]["unique"]) for each in answer.json()["jobs"]]
    assert found == [(True, "u0"), (True, "u1"), (True, "u2"), (False, "u0"), (False, "u1")]


@pytest.mark.parametrize(
    ("wrong", "code", "field"),
    [
        ({"action": "send", "input": {"user_id": "x"}}, "BAD_ARGUMENTS", "jobs[3].input.user_id"),
        ({"action": "nothing"}, "UNKNOWN_ACTION", "jobs[3].action"),
        ({"action": "send", "input": {"user_id": 1}, "when": "never"}, "INTENT", "jobs[3].when"),
        ({"action": "send", "input": {"user_id": 1}, "priority": 10**6}, "INVALID", "jobs[3].priority"),
        (
            {"action": "send", "input": {"user_id": 1}, "when": "at noon", "runAt": "2030-01-01T00:00:00Z"},
            "INVALID",
            "jobs[3].when",
        ),
    ],
    ids=lambda value: None if isinstance(value, dict) else str(value),
)
async def test_one_bad_job_of_a_batch_is_named_and_none_is_stored(
    http: httpx2.AsyncClient, app: Kairos, wrong: dict[str, Any], code: str, field: str
) -> None:
    good = {"action": "send", "input": {"user_id": 7}}
    answer = await http.post("/api/jobs/batch", json={"jobs": [good, good, good, wrong, good]})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["details"]["field"]) == (422, code, field)
    assert await app.jobs() == []


@pytest.mark.parametrize(("count", "status"), [(0, 422), (1, 202), (1000, 202), (1001, 422)])
async def test_a_batch_has_one_to_a_thousand_jobs(http: httpx2.AsyncClient, count: int, status: int) -> None:
    answer = await http.post("/api/jobs/batch", json={"jobs": [{"action": "fail"}] * count})
    assert answer.status_code == status


async def test_nobody_who_asks_speaks_in_the_name_of_kairos(app: Kairos, http: httpx2.AsyncClient) -> None:
    @app.job
    async def plain() -> None: ...

    async with app.worker():
        pass  # it has registered what it can do, deliveries among it
    event = {"id": "1-1-raised", "type": "alarm.raised", "at": None, "alarm": None}
    forged = {"action": "kairos.webhook", "input": {"webhook": 1, "event": event}}
    taken = {"action": "plain", "unique": "kairos.webhook:1-1-raised", "uniqueScope": "ever"}
    for path, body, field in (
        ("/api/jobs", forged, "action"),
        ("/api/jobs/batch", {"jobs": [{"action": "plain"}, forged]}, "jobs[1].action"),
        ("/api/jobs", taken, "unique"),
        ("/api/jobs/batch", {"jobs": [taken]}, "jobs[0].unique"),
        ("/api/schedules", {**forged, "name": "x", "when": "every hour"}, "action"),
    ):
        answer = await http.post(path, json=body)
        assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (422, field), answer.text
    assert (await http.get("/api/jobs")).json()["jobs"] == []
