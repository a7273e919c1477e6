"""Changing a job that waits for a worker, waiting for one to end, and its inbox."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from tests.api.service_process import Served
from tests.engine_statements import Hand
from tests.shared_database import database, kept_database, quiet

from kairos import Await, Context, Done, Kairos, step
from kairos.api.job_waiters import JobWaiters
from kairos.api.schemas import jobs as schemas
from kairos.api.schemas import signals as signal_schemas
from kairos.testing import drain

__all__ = ["database", "kept_database", "quiet"]

LATER = "2090-01-01T00:00:00Z"


@pytest.fixture
def app(app: Kairos) -> Kairos:
    @app.job
    async def send(ctx: Context, n: int = 0) -> int:
        return n

    @app.machine("order")
    class Order:
        @step
        async def ship(self, ctx: Context) -> Any:
            if (parcel := ctx.take("delivered")) is None:
                return Await("delivered")
            return Done(parcel.payload)

    return app


async def edit(http: httpx2.AsyncClient, job: int, **changes: Any) -> httpx2.Response:
    return await http.patch(f"/api/jobs/{job}", json=changes)


async def test_what_is_given_changes_and_the_rest_stays(http: httpx2.AsyncClient, app: Kairos) -> None:
    job = (await app.action("send").options(tags=["a"], ttl=60, priority=2).enqueue()).id
    changed = await edit(http, job, priority=-7, queue="slow", tags=["b", "c"])
    assert changed.status_code == 200, changed.text
    schemas.JobAnswer.model_validate(changed.json())
    found = changed.json()["job"]
    assert (found["priority"], found["queue"], found["tags"]) == (-7, "slow", ["b", "c"])
    before = await app.get(job)
    assert (await edit(http, job, tags=[])).json()["job"]["tags"] == []
    after = await app.get(job)
    assert (after.priority, after.queue, after.run_at, after.expires_at) == (
        before.priority,
        before.queue,
        before.run_at,
        before.expires_at,
    )


async def test_a_ttl_counts_from_when_the_job_is_due_and_moves_with_it(
    http: httpx2.AsyncClient, app: Kairos
) -> None:
    job = (await app.action("send").options(delay=60, ttl=3600).enqueue()).id
    moved = (await edit(http, job, runAt=LATER)).json()["job"]
    assert (moved["runAt"], moved["expiresAt"]) == (LATER, "2090-01-01T01:00:00Z")
    assert (await edit(http, job, ttl="1d")).json()["job"]["expiresAt"] == "2090-01-02T00:00:00Z"
    assert (await edit(http, job, ttl=None)).json()["job"]["expiresAt"] is None
    absolute = (await edit(http, job, expiresAt="2091-01-01T00:00:00Z")).json()["job"]
    assert absolute["expiresAt"] == "2091-01-01T00:00:00Z"
    assert (await edit(http, job, expiresAt=None)).json()["job"]["expiresAt"] is None


async def test_a_time_brought_forward_to_now_is_a_run_now(http: httpx2.AsyncClient, app: Kairos) -> None:
    job = (await app.action("send").options(delay=60).enqueue()).id
    past = (datetime.now(UTC) - timedelta(seconds=5)).isoformat()
    assert (await edit(http, job, runAt=past)).json()["job"]["state"] == "pending"
    assert [(row.verb, row.actor) for row in await app.history(job)] == [("run_now", "local")]
    assert await drain(app) == 1


async def test_what_is_due_is_not_put_off_by_an_edit(http: httpx2.AsyncClient, app: Kairos) -> None:
    job = (await app.action("send").enqueue()).id
    refused = await edit(http, job, runAt=LATER, priority=5)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "INVALID_TRANSITION")
    assert refused.json()["error"]["details"]["state"] == "pending"
    assert "snooze" in refused.json()["error"]["message"]
    assert (await app.get(job)).priority == 0


async def test_a_job_that_a_worker_took_is_left_alone(http: httpx2.AsyncClient, app: Kairos) -> None:
    running = (await app.action("send").enqueue()).id
    assert len(await Hand(app.store, "w").pick()) == 1
    waiting = (await app.action("order").enqueue()).id
    await drain(app)
    ended = (await app.action("send").enqueue()).id
    await app.cancel(ended)
    for job, state in ((running, "running"), (waiting, "waiting"), (ended, "cancelled")):
        refused = await edit(http, job, priority=5)
        assert (refused.status_code, refused.json()["error"]["details"]["state"]) == (409, state)
        assert (await app.get(job)).priority == 0


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"state": "success"},
        {"priority": None},
        {"priority": 1.5},
        {"priority": 2**20},
        {"queue": ""},
        {"runAt": None},
        {"runAt": "soon"},
        {"ttl": -5},
        {"ttl": "1 blue moon"},
        {"ttl": 5, "expiresAt": LATER},
        {"tags": "a"},
        {"tags": [5]},
        {"expiresAt": "9999-12-31T23:59:59-14:00"},
    ],
    ids=str,
)
async def test_a_change_that_makes_no_sense_is_refused(
    http: httpx2.AsyncClient, app: Kairos, body: dict[str, Any]
) -> None:
    job = (await app.action("send").enqueue()).id
    assert (await edit(http, job, **body)).status_code == 422


@pytest.mark.parametrize("ttl", [10**9, "10000d", 1e30, 10**400], ids=str)
async def test_no_length_of_time_is_too_long_to_be_answered(
    http: httpx2.AsyncClient, app: Kairos, ttl: Any
) -> None:
    """An end after the year 9999 is one that no calendar here can hold."""
    far = "9998-12-31T00:00:00Z"
    job = (await app.action("send").options(delay=60).enqueue()).id
    answers = [
        await edit(http, job, runAt=far, ttl=ttl),
        await http.post("/api/jobs", json={"action": "send", "runAt": far, "ttl": ttl}),
        await http.get(f"/api/jobs/{job}"),
        await http.get("/api/jobs"),
    ]
    assert [answer.status_code for answer in answers] == [422, 422, 200, 200]


# Waiting


async def all_wait(served: Served, job: int, tasks: list[asyncio.Task[Any]]) -> None:
    """Until the service has each of these requests among those that wait for the job."""
    waiters = await served.service.component(JobWaiters)
    async with asyncio.timeout(30):
        while waiters.waiting_for(job) < len(tasks):
            await asyncio.sleep(0.01)
    assert not any(task.done() for task in tasks)


async def test_whoever_waits_gets_the_job_when_it_has_ended(served: Served, app: Kairos) -> None:
    job, http = (await app.action("send").enqueue(3)).id, served.http
    waiting = [asyncio.create_task(http.get(f"/api/jobs/{job}/wait?timeout=60")) for _ in range(20)]
    await all_wait(served, job, waiting)
    await drain(app)
    answers = [await task for task in waiting]
    assert {(each.status_code, each.json()["job"]["output"]) for each in answers} == {(200, 3)}
    assert (await http.get(f"/api/jobs/{job}/wait")).json()["job"]["state"] == "success"


async def test_a_wait_that_is_over_answers_with_the_job_as_it_is(
    http: httpx2.AsyncClient, app: Kairos
) -> None:
    job = (await app.action("send").enqueue()).id
    for timeout in ("0", "0.05"):
        answer = await http.get(f"/api/jobs/{job}/wait?timeout={timeout}")
        assert (answer.status_code, answer.json()["job"]["state"]) == (200, "pending")
    for timeout in ("61", "-1", "nan", "soon"):
        assert (await http.get(f"/api/jobs/{job}/wait?timeout={timeout}")).status_code == 422


async def test_waiters_hold_no_connection_and_leave_nothing_behind(served: Served, app: Kairos) -> None:
    """More wait than there are connections, and the service goes on answering; those who hang up are forgotten."""
    job = (await app.action("send").enqueue()).id
    limits = httpx2.Limits(max_connections=100)
    async with httpx2.AsyncClient(base_url=served.url, timeout=60, limits=limits) as crowd:
        waiting = [asyncio.create_task(crowd.get(f"/api/jobs/{job}/wait?timeout=60")) for _ in range(50)]
        await all_wait(served, job, waiting)
        assert (await served.http.get("/api/jobs")).status_code == 200
        await app.cancel(job)
        assert {(await task).json()["job"]["state"] for task in waiting} == {"cancelled"}


async def test_a_caller_has_so_many_waits_and_streams(serve: Any, app: Kairos) -> None:
    job = (await app.action("send").enqueue()).id
    async with serve(open=True, streams_per_caller=3) as served:
        path, http = f"/api/jobs/{job}/wait?timeout=60", served.http
        async with http.stream("GET", "/api/events"):
            waiting = [asyncio.create_task(http.get(path)) for _ in range(2)]
            await all_wait(served, job, waiting)
            async with asyncio.timeout(50):
                refused = await http.get(path)
            assert (refused.status_code, refused.headers["Retry-After"]) == (429, "5")
            assert (await http.get("/api/jobs")).status_code == 200
        await app.cancel(job)
        assert {(await task).status_code for task in waiting} == {200}
        assert (await http.get(path)).json()["job"]["state"] == "cancelled"


async def test_a_wait_ends_when_its_client_closes_its_side(serve: Any, app: Kairos) -> None:
    """It may have left: its place is free at once, and if it still reads, it gets the job as it is."""
    job = (await app.action("send").enqueue()).id
    async with serve(open=True) as served:
        waiters = await served.service.component(JobWaiters)
        for hang_up in (False, True):
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(f"GET /api/jobs/{job}/wait?timeout=60 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            async with asyncio.timeout(50):
                while not waiters.waiting_for(job):
                    await asyncio.sleep(0.01)
                if hang_up:
                    writer.transport.abort()
                else:
                    writer.write_eof()
                    assert b'"pending"' in await reader.read()
                while waiters.waiting_for(job):
                    await asyncio.sleep(0.01)
            writer.close()


# Signals


async def test_a_signal_wakes_the_job_that_waits_for_it(http: httpx2.AsyncClient, app: Kairos) -> None:
    job = (await app.action("order").enqueue()).id
    await drain(app)
    path = f"/api/jobs/{job}/signals"
    sent = await http.post(path, json={"name": "delivered", "payload": {"at": "noon"}, "dedupKey": "e1"})
    assert sent.status_code == 202, sent.text
    signal_schemas.SignalAnswer.model_validate(sent.json())
    assert sent.json()["signal"] == {"target": job, "name": "delivered", "answer": "woke"}
    again = await http.post(path, json={"name": "delivered", "dedupKey": "e1"})
    assert again.json()["signal"]["answer"] == "duplicate"
    assert (await http.post(path, json={"name": "note"})).json()["signal"]["answer"] == "delivered"
    await drain(app)
    inbox = (await http.get(path)).json()
    signal_schemas.SignalList.model_validate(inbox)
    assert [(row["name"], row["payload"], row["consumedAt"] is not None) for row in inbox["signals"]] == [
        ("delivered", {"at": "noon"}, True),
        ("note", {}, False),
    ]
    assert (await app.get(job)).output == {"at": "noon"}
    history = (await http.get(f"/api/jobs/{job}/history")).json()["history"]
    assert [row["actor"] for row in history if row["verb"] == "wake"] == ["local"]
    late = await http.post(path, json={"name": "note"})
    assert (late.status_code, late.json()["error"]["code"]) == (409, "CONFLICT")


@pytest.mark.parametrize(
    "body", [{}, {"name": ""}, {"name": 5}, {"name": "a\nb"}, {"name": "x", "to": 1}], ids=str
)
async def test_a_signal_that_makes_no_sense_is_refused(
    http: httpx2.AsyncClient, app: Kairos, body: dict[str, Any]
) -> None:
    job = (await app.action("order").enqueue()).id
    assert (await http.post(f"/api/jobs/{job}/signals", json=body)).status_code == 422


@pytest.mark.parametrize(
    "at", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "9999-01-01T00:00:00Z"]
)
@pytest.mark.parametrize("field", ["runAt", "expiresAt"])
async def test_the_ends_of_the_calendar_are_refused(
    http: httpx2.AsyncClient, app: Kairos, field: str, at: str
) -> None:
    """To a driver they are infinities, which no worker could wait for."""
    answer = await edit(http, (await app.action("send").options(delay=60).enqueue()).id, **{field: at})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "INVALID")
