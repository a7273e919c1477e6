"""`retry` in the body of a job: its own policy, in place of its action's. `retryOf`: the job that it runs again."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from tests.shared_database import database, kept_database, quiet

from kairos import Backoff, Kairos
from kairos.api.schemas import jobs as schemas
from kairos.testing import drain

__all__ = ["database", "kept_database", "quiet"]

USUAL = {"base": 1.0, "factor": 2.0, "cap": 3600.0, "jitter": 0.1}


@pytest.fixture
def app(app: Kairos) -> Kairos:
    @app.job(retry=Backoff(attempts=4, base=0))
    async def fails() -> None:
        raise ValueError("no")

    return app


async def runs(app: Kairos, job: int) -> int:
    await drain(app)
    return sum(row.verb in ("fail", "stop") for row in await app.history(job))


@pytest.mark.parametrize(
    ("retry", "shown"),
    [
        ({"attempts": 1}, {"attempts": 1, **USUAL}),
        (
            {"attempts": 5, "base": "90s", "factor": 1, "cap": 0.5, "jitter": 0},
            {"attempts": 5, "base": 90.0, "factor": 1.0, "cap": 0.5, "jitter": 0.0},
        ),
        ({"attempts": 2**31 - 1, "jitter": 1}, {"attempts": 2**31 - 1, **USUAL, "jitter": 1.0}),
        (None, None),
    ],
    ids=["least", "all", "most", "null"],
)
async def test_the_policy_of_a_job_is_shown_as_it_will_be_followed(
    http: httpx2.AsyncClient, retry: Any, shown: Any
) -> None:
    made = await http.post("/api/jobs", json={"action": "fails", "retry": retry})
    assert made.status_code == 202
    schemas.JobAnswer.model_validate(made.json())
    job = made.json()["job"]
    read = (await http.get(f"/api/jobs/{job['id']}")).json()["job"]
    (listed,) = (await http.get("/api/jobs")).json()["jobs"]
    assert job["retry"] == read["retry"] == listed["retry"] == shown


async def test_a_job_is_run_as_often_as_its_body_says_and_so_is_what_retries_it(
    http: httpx2.AsyncClient, app: Kairos
) -> None:
    bodies: list[dict[str, Any]] = [{}, {"retry": {"attempts": 1}}, {"retry": {"attempts": 2, "base": 0}}]
    jobs = [
        (await http.post("/api/jobs", json={"action": "fails", **body})).json()["job"]["id"]
        for body in bodies
    ]
    assert [await runs(app, job) for job in jobs] == [4, 1, 2]
    again = (await http.post(f"/api/jobs/{jobs[2]}/retry")).json()["job"]
    assert (again["retryOf"], again["retry"]["attempts"]) == (jobs[2], 2)
    assert await runs(app, again["id"]) == 2


async def test_each_job_of_a_batch_has_its_own(http: httpx2.AsyncClient, app: Kairos) -> None:
    wanted = [{"action": "fails", "retry": {"attempts": n, "base": 0}} for n in (1, 2)]
    made = await http.post("/api/jobs/batch", json={"jobs": [*wanted, {"action": "fails"}]})
    schemas.BatchAnswer.model_validate(made.json())
    jobs = [each["job"] for each in made.json()["jobs"]]
    assert [job["retry"] and job["retry"]["attempts"] for job in jobs] == [1, 2, None]
    assert [await runs(app, job["id"]) for job in jobs] == [1, 2, 4]


@pytest.mark.parametrize(
    ("retry", "field"),
    [
        (5, "retry"),
        ([], "retry"),
        ({}, "retry.attempts"),
        ({"base": 1}, "retry.attempts"),
        ({"attempts": 0}, "retry.attempts"),
        ({"attempts": -1}, "retry.attempts"),
        ({"attempts": 2**31}, "retry.attempts"),
        ({"attempts": 2.0}, "retry.attempts"),
        ({"attempts": True}, "retry.attempts"),
        ({"attempts": "5"}, "retry.attempts"),
        ({"attempts": None}, "retry.attempts"),
        ({"attempts": 2, "factor": 0.99}, "retry.factor"),
        ({"attempts": 2, "factor": 10**400}, "retry.factor"),
        ({"attempts": 2, "factor": "2"}, "retry.factor"),
        ({"attempts": 2, "factor": True}, "retry.factor"),
        ({"attempts": 2, "jitter": -0.01}, "retry.jitter"),
        ({"attempts": 2, "jitter": 1.01}, "retry.jitter"),
        ({"attempts": 2, "base": -1}, "retry.base"),
        ({"attempts": 2, "base": "soon"}, "retry.base"),
        ({"attempts": 2, "base": True}, "retry.base"),
        ({"attempts": 2, "base": None}, "retry.base"),
        ({"attempts": 2, "cap": "36526d"}, "retry.cap"),
        ({"attempts": 2, "cap": 10**400}, "retry.cap"),
        ({"attempts": 2, "capp": 5}, "retry.capp"),
    ],
    ids=lambda given: str(given)[:40],
)
async def test_a_policy_out_of_range_is_refused_with_its_field_named(
    http: httpx2.AsyncClient, app: Kairos, retry: Any, field: str
) -> None:
    body = {"action": "fails", "retry": retry}
    one = await http.post("/api/jobs", json=body)
    many = await http.post("/api/jobs/batch", json={"jobs": [{"action": "fails"}, body]})
    assert (one.status_code, many.status_code) == (422, 422)
    named = [answer.json()["error"]["details"]["field"] for answer in (one, many)]
    assert named == [field, f"jobs[1].{field}"]
    assert await app.jobs() == []


async def test_a_schedule_refuses_a_policy(http: httpx2.AsyncClient) -> None:
    body = {"name": "nightly", "when": "every day at 3am", "action": "fails", "retry": {"attempts": 2}}
    refused = await http.post("/api/schedules", json=body)
    assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (422, "retry")


async def test_a_job_names_the_job_that_it_runs_again_with_changes(
    http: httpx2.AsyncClient, app: Kairos
) -> None:
    first = (await http.post("/api/jobs", json={"action": "fails"})).json()["job"]
    assert first["retryOf"] is None
    body = {"action": "fails", "retryOf": first["id"], "priority": 3}
    again = (await http.post("/api/jobs", json=body)).json()["job"]
    assert again["retryOf"] == first["id"]
    batch = (await http.post("/api/jobs/batch", json={"jobs": [body, {"action": "fails"}]})).json()["jobs"]
    assert [each["job"]["retryOf"] for each in batch] == [first["id"], None]
    found = (await http.get("/api/jobs", params={"retryOf": first["id"]})).json()["jobs"]
    assert [each["id"] for each in found] == [batch[0]["job"]["id"], again["id"]]
    assert (await app.get(again["id"])).retry_of == first["id"]


async def test_a_job_that_runs_again_none_is_refused(http: httpx2.AsyncClient) -> None:
    refused = await http.post("/api/jobs", json={"action": "fails", "retryOf": 123456})
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["details"]["field"]) == (422, "INVALID", "retryOf")
    assert error["message"] == "There is no job 123456 to run again."
    jobs = [{"action": "fails"}, {"action": "fails", "retryOf": 123456}]
    refused = await http.post("/api/jobs/batch", json={"jobs": jobs})
    assert refused.json()["error"]["details"]["field"] == "jobs[1].retryOf"
    assert (await http.get("/api/jobs")).json()["jobs"] == []
