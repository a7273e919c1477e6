"""Whoever may enqueue cannot make up queues without end, nor stop the queue that delivers alarms."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from kairos import Kairos
from kairos.operations import keys

MOST = 8


@pytest.fixture
async def act(app: Kairos) -> Any:
    @app.job(queue="declared")
    async def act() -> None: ...

    await app.synchronise()
    return act


def job(queue: str | None) -> dict[str, Any]:
    return {"action": "act", "input": {}, **({} if queue is None else {"queue": queue})}


def refused(answer: httpx2.Response) -> None:
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["details"]) == (
        422,
        "TOO_MANY_QUEUES",
        {"field": "queue"},
    )


async def test_past_the_quota_a_new_queue_is_refused_and_a_known_one_is_not(
    app: Kairos, act: Any, serve: Any
) -> None:
    async with serve(open=True, queue_names=MOST) as served:
        http = served.http
        made = 0
        while (answer := await http.post("/api/jobs", json=job(f"made up {made}"))).status_code == 202:
            made += 1
            assert made <= MOST
        refused(answer)
        assert made >= MOST - 3
        refused(await http.post("/api/jobs/batch", json={"jobs": [job("made up 0"), job("another")]}))
        refused(await http.patch("/api/queues/another", json={"concurrency": 1}))
        refused(await http.post("/api/queues/another/pause"))
        refused(await http.post("/api/queues/another/resume"))
        wanted = {"name": "s", "when": "every day at 09:00", "action": "act", "queue": "another"}
        refused(await http.post("/api/schedules", json=wanted))
        stored = (await http.post("/api/jobs", json=job("made up 1"))).json()["job"]["id"]
        refused(await http.patch(f"/api/jobs/{stored}", json={"queue": "another"}))
        for known in ("made up 0", "declared", None):
            assert (await http.post("/api/jobs", json=job(known))).status_code == 202


async def test_a_queue_with_jobs_that_another_process_made_is_known(
    app: Kairos, act: Any, serve: Any
) -> None:
    async with serve(open=True, queue_names=1) as served:
        await act.options(queue="elsewhere").enqueue()
        assert (await served.http.post("/api/jobs", json=job("elsewhere"))).status_code == 202
        refused(await served.http.post("/api/jobs", json=job("another")))


@pytest.mark.parametrize(("scope", "status"), [("operate", 403), ("admin", 200)])
async def test_the_queue_that_delivers_alarms_is_changed_by_admins_alone(
    app: Kairos, serve: Any, scope: str, status: int
) -> None:
    _, token = await app.run(keys.add_key("a test", [scope]))
    async with serve() as served, served.as_key(token) as http:
        assert (await http.post("/api/queues/kairos/pause")).status_code == status
        assert (await http.patch("/api/queues/kairos", json={"concurrency": 1})).status_code == status
        assert (await http.post("/api/queues/mail/pause")).status_code == 200


INSERT_DELIVERY = """
insert into kairos.gen_durable (fsm, step, state, queue, eligible_at)
values ('kairos.webhook', 'run', '{"webhook": 1}', 'kairos', now() + interval '1 day') returning id
"""


async def test_the_jobs_that_deliver_alarms_are_changed_by_admins_alone(app: Kairos, serve: Any) -> None:
    _, token = await app.run(keys.add_key("a test", ["operate", "enqueue"]))
    _, admin = await app.run(keys.add_key("an admin", ["admin"]))
    async with app.store.connection() as connection:
        job = await connection.fetchval(INSERT_DELIVERY)
    async with serve() as served, served.as_key(token) as http:
        asked = [
            await http.post(f"/api/jobs/{job}/cancel"),
            await http.post(f"/api/jobs/{job}/run-now"),
            await http.post(f"/api/jobs/{job}/snooze", json={"delay": "1d"}),
            await http.post(f"/api/jobs/{job}/signals", json={"name": "x"}),
            await http.post(f"/api/jobs/{job}/retry"),
            await http.patch(f"/api/jobs/{job}", json={"priority": 5}),
            await http.delete(f"/api/jobs/{job}"),
        ]
        assert [each.status_code for each in asked] == [403] * len(asked)
        for dry_run in (True, False):
            wanted = {"filter": {"queue": "kairos"}, "dryRun": dry_run}
            found = (await http.post("/api/jobs/bulk/cancel", json=wanted)).json()
            assert (found["matched"], found["done"], found["refused"]) == (1, 0, 1)
        assert (await app.get(job)).state == "scheduled"
        async with served.as_key(admin) as http:
            assert (await http.post(f"/api/jobs/{job}/cancel")).status_code == 200
