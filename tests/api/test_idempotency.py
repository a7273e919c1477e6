"""Idempotency-Key: the same request gets the same answer, and its work is done once."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from tests.api.service_process import Served, serving
from tests.remote.cutting import Cutter
from tests.shared_database import database, kept_database, quiet

from kairos import Await, Context, Kairos, step
from kairos.operations.keys import add_key
from kairos.testing import drain

__all__ = ["database", "kept_database", "quiet"]

BODY = {"action": "send", "input": {"user_id": 7, "token": "s3cr3t"}}


@pytest.fixture
def app(app: Kairos) -> Kairos:
    @app.job(redact=["token"])
    async def send(user_id: int, token: str = "") -> int:
        return user_id

    @app.machine("waiter")
    class Waiter:
        @step
        async def wait(self, ctx: Context) -> Any:
            return Await("paid")

    return app


async def post(
    http: httpx2.AsyncClient, key: str, body: Any = BODY, path: str = "/api/jobs"
) -> httpx2.Response:
    return await http.post(path, json=body, headers={"Idempotency-Key": key})


async def test_the_same_key_and_body_give_the_same_answer_under_a_fresh_request_id(
    http: httpx2.AsyncClient, app: Kairos
) -> None:
    first, second = await post(http, "k"), await post(http, "k")
    assert (first.status_code, second.status_code) == (202, 202)
    assert "Idempotency-Replayed" not in first.headers
    assert second.headers["Idempotency-Replayed"] == "true"
    assert second.json()["job"] == first.json()["job"]
    assert list(second.json()["job"]) == list(first.json()["job"])
    assert second.headers["Location"] == first.headers["Location"]
    assert second.json()["requestId"] == second.headers["X-Request-Id"] != first.json()["requestId"]
    assert len(await app.jobs()) == 1


async def test_a_body_that_is_only_spaced_otherwise_is_the_same(http: httpx2.AsyncClient) -> None:
    headers = {"Idempotency-Key": "k", "Content-Type": "application/json"}
    await http.post("/api/jobs", content='{"action": "send", "input": {"user_id": 7}}', headers=headers)
    again = await http.post("/api/jobs", content='{ "input":{"user_id":7},"action":"send" }', headers=headers)
    assert (again.status_code, again.headers.get("Idempotency-Replayed")) == (202, "true")


async def test_another_body_under_the_same_key_is_a_conflict(http: httpx2.AsyncClient, app: Kairos) -> None:
    await post(http, "k")
    other = await post(http, "k", {"action": "send", "input": {"user_id": 8}})
    assert (other.status_code, other.json()["error"]["code"]) == (409, "CONFLICT")
    elsewhere = await post(http, "k", {"jobs": [BODY]}, "/api/jobs/batch")
    assert elsewhere.status_code == 409
    assert len(await app.jobs()) == 1


async def test_sixteen_at_once_make_one_job(http: httpx2.AsyncClient, app: Kairos) -> None:
    answers = await asyncio.gather(*(post(http, "k") for _ in range(16)))
    assert [answer.status_code for answer in answers] == [202] * 16
    assert len({answer.json()["job"]["id"] for answer in answers}) == 1
    assert sum("Idempotency-Replayed" in answer.headers for answer in answers) == 15
    assert len(await app.jobs()) == 1


async def test_sixteen_bodies_at_once_make_one_job_and_fifteen_conflicts(
    http: httpx2.AsyncClient, app: Kairos
) -> None:
    bodies = [{"action": "send", "input": {"user_id": n}} for n in range(16)]
    answers = await asyncio.gather(*(post(http, "k", body) for body in bodies))
    assert sorted(answer.status_code for answer in answers) == [202] + [409] * 15
    assert len(await app.jobs()) == 1


async def test_a_request_whose_connection_is_cut_after_its_commit_is_replayed(
    served: Served, app: Kairos
) -> None:
    """The wire breaks once the job is there for all to see, and before its client has heard a word of it."""
    async with Cutter(served.port) as wire, httpx2.AsyncClient(base_url=wire.url, timeout=30) as http:
        wire.hold_answers = True
        first = asyncio.create_task(post(http, "k"))
        while not (jobs := await app.jobs()):
            assert not first.done()
            await asyncio.sleep(0.005)
        wire.cut()
        with pytest.raises(httpx2.TransportError):
            await first
        wire.hold_answers = False
        again = await post(http, "k")
    assert (again.status_code, again.json()["job"]["id"]) == (202, jobs[0].id)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(await app.jobs()) == 1


async def test_a_client_that_hangs_up_on_its_way_finds_its_one_job(served: Served, app: Kairos) -> None:
    """However far the first request came when its connection was cut, there is one job in the end."""
    for n in range(20):
        async with httpx2.AsyncClient(base_url=served.url) as hasty:
            cut = asyncio.create_task(post(hasty, f"k{n}"))
            await asyncio.sleep(0.001 * n)
            cut.cancel()
            await asyncio.gather(cut, return_exceptions=True)
        assert (await post(served.http, f"k{n}")).status_code == 202
        assert len(await app.jobs()) == n + 1


async def test_what_failed_is_not_kept_and_may_be_tried_again(http: httpx2.AsyncClient, app: Kairos) -> None:
    taken = await http.post("/api/jobs", json={**BODY, "unique": "u"})
    first = await post(http, "k", {**BODY, "unique": "u"})
    assert (first.status_code, (await post(http, "k", {"action": "none"})).status_code) == (409, 422)
    await app.cancel(taken.json()["job"]["id"])
    assert (await post(http, "k", {**BODY, "unique": "u"})).status_code == 202


async def test_callers_do_not_share_keys(app: Kairos) -> None:
    tokens = [(await app.run(add_key(name, ["enqueue"])))[1] for name in ("a", "b")]
    async with (
        serving(app, open=False) as served,
        served.as_key(tokens[0]) as one,
        served.as_key(tokens[1]) as other,
    ):
        answers = [await post(http, "k") for http in (one, other, one)]
    assert [answer.status_code for answer in answers] == [202] * 3
    assert ["Idempotency-Replayed" in answer.headers for answer in answers] == [False, False, True]
    assert len(await app.jobs()) == 2


async def test_a_key_is_free_again_after_a_day(http: httpx2.AsyncClient, app: Kairos) -> None:
    first = await post(http, "k")
    async with app.store.connection() as connection:
        kept = "select expires_at - now() from kairos.idempotency"
        assert 23.9 < (await connection.fetchval(kept)).total_seconds() / 3600 <= 24
        await connection.execute("update kairos.idempotency set expires_at = now()")
    second = await post(http, "k", {"action": "send", "input": {"user_id": 9}})
    assert (second.status_code, "Idempotency-Replayed" in second.headers) == (202, False)
    assert second.json()["job"]["id"] != first.json()["job"]["id"]


async def test_no_secret_is_kept_with_an_answer(http: httpx2.AsyncClient, app: Kairos) -> None:
    await post(http, "k")
    async with app.store.connection() as connection:
        assert "s3cr3t" not in await connection.fetchval("select body from kairos.idempotency")


@pytest.mark.parametrize("key", ["", "a b", "ä", "x" * 256], ids=ascii)
async def test_a_key_is_visible_ascii_of_at_most_255_characters(http: httpx2.AsyncClient, key: str) -> None:
    answer = await http.post("/api/jobs", json=BODY, headers={b"Idempotency-Key": key.encode()})
    assert answer.status_code == 422
    assert answer.json()["error"]["details"]["field"] == "Idempotency-Key"
    assert (await post(http, "x" * 255)).status_code == 202


async def test_batches_retries_and_signals_are_done_once_too(http: httpx2.AsyncClient, app: Kairos) -> None:
    batches = [await post(http, "b", {"jobs": [BODY, BODY]}, "/api/jobs/batch") for _ in range(2)]
    assert batches[0].json()["jobs"] == batches[1].json()["jobs"]
    old = batches[0].json()["jobs"][0]["job"]["id"]
    await app.cancel(old)
    retries = [await post(http, "r", None, f"/api/jobs/{old}/retry") for _ in range(2)]
    assert retries[0].json()["job"] == retries[1].json()["job"]
    assert len(await app.jobs()) == 3
    waiting = await app.action("waiter").enqueue()
    await drain(app)
    path = f"/api/jobs/{waiting.id}/signals"
    signals = [await post(http, "s", {"name": "paid"}, path) for _ in range(2)]
    assert [answer.json()["signal"]["answer"] for answer in signals] == ["woke", "woke"]
    assert len((await http.get(path)).json()["signals"]) == 1
