"""What lies at the edge of what can be asked: refused with its field, never a surprise."""

from __future__ import annotations

import httpx2
import pytest
from tests.api.service_process import Served, Shared

LONG = "1" * 5000


@pytest.mark.parametrize("path", ["", "/history", "/logs", "/signals", "/events", "/wait"])
def test_an_id_of_any_length_is_not_found(open_service: Shared, path: str) -> None:
    for number in (LONG, "9" * 20, "9" * 19):
        answer = open_service.http.get(f"/api/jobs/{number}{path}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND"), number


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/api/schedules?cursor=%00", 422),
        ("/api/schedules?cursor=%1F", 422),
        ("/api/schedules/x/ticks?cursor=0001-01-01T00:00:00%2B10:00~1", 422),
        ("/api/stats/series?to=9999-12-31T23:59:59Z&step=86400", 422),
        ("/api/stats/series?from=0001-01-01T00:00:00%2B10:00&step=86400", 422),
        ("/api/stats/series?to=0001-01-01T00:00:00Z", 422),
        ("/api/stats/series?to=0002-01-02T00:00:00Z&step=86400", 200),
        ("/api/stats/series?from=9998-12-31T00:00:00Z&to=9998-12-31T23:59:59Z&step=86400", 200),
    ],
    ids=str,
)
def test_a_place_beyond_the_calendar_or_the_alphabet_is_refused(
    open_service: Shared, path: str, code: int
) -> None:
    assert open_service.http.get(path).status_code == code


@pytest.mark.parametrize(
    ("when", "now"),
    [
        ("every day", "0001-01-01T00:00:00Z"),
        ("every day at 9am", "0001-01-01T00:00:00Z"),
        ("every day at 9am", "0002-01-01T00:00:00Z"),
        ("every day at 9am", "9998-12-31T23:59:59Z"),
        ("every day at 9am", "9999-12-31T23:59:59Z"),
        ("every 5 minutes", "9998-12-31T23:59:59Z"),
    ],
    ids=str,
)
def test_an_intent_at_the_edge_of_the_calendar_is_no_surprise(
    open_service: Shared, when: str, now: str
) -> None:
    body = {"when": when, "now": now, "tz": "America/New_York"}
    assert open_service.http.post("/api/intent", json=body).status_code in (200, 422)


def refused(answer: httpx2.Response, field: str) -> None:
    error = answer.json()["error"]
    assert (answer.status_code, error["details"]["field"], "slash" in error["message"]) == (422, field, True)


def test_a_name_that_no_path_could_hold_is_refused(open_service: Shared) -> None:
    http = open_service.http
    schedule = {"name": "a", "when": "every hour", "action": "x"}
    refused(http.post("/api/schedules", json={**schedule, "name": "a/b"}), "name")
    refused(http.post("/api/schedules", json={**schedule, "queue": "a/b"}), "queue")
    refused(http.patch("/api/schedules/a", json={"queue": "a/b"}), "queue")
    refused(http.post("/api/jobs", json={"action": "x", "queue": "a/b"}), "queue")
    refused(http.patch("/api/jobs/1", json={"queue": "a/b"}), "queue")
    refused(http.post("/api/jobs/batch", json={"jobs": [{"action": "x", "queue": "a/b"}]}), "jobs[0].queue")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/jobs", {"runAt": "9998-12-31T23:59:59-23:59"}),
        ("/api/jobs", {"expiresAt": "9998-12-31T23:59:59-23:59"}),
        ("/api/jobs", {"runAt": "0001-01-01T00:00:00+14:00"}),
        ("/api/jobs", {"runAt": "0002-01-01T00:00:00+14:00"}),
        ("/api/jobs", {"when": "0001-01-01T00:00:00+14:00"}),
        ("/api/schedules", {"name": "edge", "when": "0001-01-01T00:00:00+14:00"}),
        ("/api/schedules", {"name": "edge", "when": "R5/9999-12-31T00:00:00Z/P1D"}),
    ],
    ids=str,
)
async def test_an_instant_that_leaves_the_calendar_in_utc_is_refused(
    served: Served, path: str, body: dict[str, str]
) -> None:
    @served.kairos.job
    async def act() -> None: ...

    answer = await served.http.post(path, json={"action": "act", **body})
    assert (answer.status_code, answer.json()["error"]["code"] != "INTERNAL") == (422, True), answer.text


@pytest.mark.parametrize("when", ["0001-01-01T00:00:00+14:00", "R5/0001-01-01T00:00:00+14:00/P1D"])
def test_an_intent_with_an_instant_beyond_the_calendar_is_refused(open_service: Shared, when: str) -> None:
    assert open_service.http.post("/api/intent", json={"when": when}).status_code == 422
