"""No page of a list is larger than its byte budget by more than one row, and no row is lost or repeated for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from tests.api.service_process import Served, serving
from tests.engine_statements import Rig

from kairos import Kairos
from kairos.operations import bulk_jobs
from kairos.testing import drain

BUDGET = 50_000
TEXT = "x" * 20_000
ROWS = 30


@pytest.fixture
async def served(app: Kairos) -> AsyncIterator[Served]:
    async with serving(app, open=True, page_bytes=BUDGET) as served:
        yield served


async def pages(http: httpx2.AsyncClient, path: str, noun: str) -> list[list[Any]]:
    """Every page of a list, each of bounded size."""
    found: list[list[Any]] = []
    cursor: dict[str, Any] = {}
    while True:
        answer = await http.get(path, params={"limit": 1000, **cursor})
        assert answer.status_code == 200
        assert len(answer.content) < BUDGET + 3 * len(TEXT)
        found.append(answer.json()[noun])
        if (following := answer.json()["nextCursor"]) is None:
            return found
        cursor = {"cursor": following}


async def test_a_list_of_jobs(app: Kairos, http: httpx2.AsyncClient) -> None:
    @app.job
    async def act(text: str) -> None: ...

    jobs = [await act.enqueue(text=TEXT) for _ in range(ROWS)]
    found = await pages(http, "/api/jobs", "jobs")
    assert [each["id"] for page in found for each in page] == [job.id for job in reversed(jobs)]
    assert all(each["input"] == {"text": TEXT} for page in found for each in page)
    assert len(found) > 5


async def test_an_inbox(app: Kairos, http: httpx2.AsyncClient) -> None:
    job = await Rig(app.store).enqueue()
    for number in range(ROWS):
        await app.signal(job, "note", {"number": number, "text": TEXT})
    found = await pages(http, f"/api/jobs/{job}/signals", "signals")
    assert [each["payload"]["number"] for page in found for each in page] == list(range(ROWS))
    assert len(found) > 5


async def test_a_log(app: Kairos, http: httpx2.AsyncClient) -> None:
    job = await Rig(app.store).enqueue()
    await Rig(app.store).fetch(
        "insert into kairos.logs (job_id, cursor, lease, said, at, level, line, step, attempt) "
        "select $1, n, 1, n, now(), 'info', $2, 'run', 0 from generate_series(1, $3::int) n",
        job,
        TEXT,
        ROWS,
    )
    found = await pages(http, f"/api/jobs/{job}/logs", "logs")
    assert [each["cursor"] for page in found for each in page] == list(range(1, ROWS + 1))
    assert len(found) > 5


async def test_a_history(app: Kairos, http: httpx2.AsyncClient) -> None:
    job = await Rig(app.store).enqueue()
    await Rig(app.store).fetch(
        "insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, reason, at) "
        "select $1, 'replay', 'running', 'scheduled', 'run', n, $2, now() from generate_series(1, $3::int) n",
        job,
        TEXT,
        ROWS,
    )
    found = await pages(http, f"/api/jobs/{job}/history", "history")
    attempts = [each["attempt"] for page in found for each in page if each["verb"] == "replay"]
    assert attempts == list(range(1, ROWS + 1))
    assert len(found) > 5


async def test_schedules(app: Kairos, http: httpx2.AsyncClient) -> None:
    @app.job
    async def act(text: str) -> None: ...

    await app.synchronise()
    for number in range(ROWS):
        wanted = {
            "name": f"s{number:02}",
            "when": "every day at 09:00",
            "action": "act",
            "input": {"text": TEXT},
        }
        made = await http.post("/api/schedules", json=wanted)
        assert made.status_code == 201, made.text
    found = await pages(http, "/api/schedules", "schedules")
    assert [each["name"] for page in found for each in page] == [f"s{number:02}" for number in range(ROWS)]
    assert len(found) > 5


@pytest.mark.parametrize("path", ["history", "signals", "logs"])
async def test_a_page_of_a_job_that_is_not_there_is_not_found(http: httpx2.AsyncClient, path: str) -> None:
    assert (await http.get(f"/api/jobs/999999/{path}")).status_code == 404


async def test_a_bulk_retry(app: Kairos, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes every input again, all those of one request in one transaction."""
    monkeypatch.setattr(bulk_jobs, "MOST_RETRIED_BYTES", BUDGET)

    @app.job
    async def act(text: str) -> None: ...

    jobs = [await act.enqueue(text=TEXT) for _ in range(ROWS)]
    await drain(app)
    body: dict[str, Any] = {"filter": {"state": "success"}}
    counted = (await http.post("/api/jobs/bulk/retry", json={**body, "dryRun": True})).json()
    assert (counted["matched"], counted["nextCursor"]) == (ROWS, None)
    done = []
    while body.get("cursor", "") is not None:
        answer = (await http.post("/api/jobs/bulk/retry", json=body)).json()
        done.append(answer["done"])
        assert answer["matched"] == answer["done"]
        body["cursor"] = answer["nextCursor"]
    assert max(done) == BUDGET // len(TEXT) + 1
    assert sum(done) == ROWS
    retried = await app.jobs(state="pending", limit=100)
    assert sorted(job.retry_of or 0 for job in retried) == [job.id for job in jobs]
