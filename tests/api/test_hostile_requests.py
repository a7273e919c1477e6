"""What strangers send, and what it must not do: to others, to the logs, to the numbers."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from tests.api.service_process import Served
from tests.worker.world import until

from kairos import Kairos
from kairos.operations import keys as verbs


async def test_a_good_key_is_let_in_whatever_else_its_address_sends(serve: Any, app: Kairos) -> None:
    used, fresh = [(await app.run(verbs.add_key(name, ["read"])))[1] for name in ("used", "fresh")]
    async with (
        serve(rate=0.01, burst=3) as served,
        served.as_key(used) as known,
        served.as_key(fresh) as unknown,
        served.as_key("kr_0123456789abcdef_no") as stranger,
    ):
        assert (await known.get("/api/session")).status_code == 200
        answers = [(await stranger.get("/api/session")).status_code for _ in range(5)]
        assert answers == [401, 401, 401, 429, 429]
        served.service.access.clear_cache()  # as after 5 seconds
        assert (await known.get("/api/session")).status_code == 200
        assert (await unknown.get("/api/session")).status_code == 200
        assert (await stranger.get("/api/session")).status_code == 429


async def test_a_revoked_key_pays_by_its_address_again(serve: Any, app: Kairos) -> None:
    key, token = await app.run(verbs.add_key("a", ["read"]))
    async with serve(rate=0.01, burst=3) as served, served.as_key(token) as http:
        assert (await http.get("/api/session")).status_code == 200
        await app.run(verbs.revoke_key(key.id))
        served.service.access.clear_cache()
        answers = [(await http.get("/api/session")).status_code for _ in range(12)]
        assert answers[0] == 401 and answers[-1] == 429


async def test_a_client_that_hangs_up_is_not_an_error_of_the_service(served: Served) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(
        b"POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b'Content-Length: 100\r\n\r\n{"action":'
    )
    await writer.drain()
    await asyncio.sleep(0.1)
    writer.close()

    async def counted() -> str | None:
        text = (await served.http.get("/metrics")).text
        lines = [each for each in text.splitlines() if each.startswith("kairos_http_requests_total")]
        return next((each for each in lines if 'method="POST"' in each), None)

    assert 'status="499"' in await until(counted, "its count")


async def test_two_host_headers_are_refused(served: Served) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(b"GET /api/jobs HTTP/1.1\r\nHost: localhost\r\nHost: elsewhere\r\nConnection: close\r\n\r\n")
    assert (await asyncio.wait_for(reader.read(), 30)).startswith(b"HTTP/1.1 400 ")
    writer.close()


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/api/jobs?stat=failed", "the nearest is 'state'"),
        ("/api/jobs?Queue=mail", "the nearest is 'queue'"),
        ("/api/jobs/1/logs?after=3", "it takes cursor, limit"),
        ("/api/session?x=1", "it takes none"),
        ("/api/events?curser=3", "the nearest is 'cursor'"),
    ],
)
async def test_a_query_parameter_that_a_route_does_not_know_is_refused_with_the_nearest(
    http: httpx2.AsyncClient, path: str, says: str
) -> None:
    answer = await http.get(path)
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["code"] == "INVALID" and says in error["message"]


@pytest.mark.parametrize("query", ["tag=a&tag=b", "limit=1&limit=1", "queue=mail&state=failed&queue=other"])
async def test_a_query_parameter_with_one_value_that_is_given_twice_is_refused(
    http: httpx2.AsyncClient, query: str
) -> None:
    """The jobs of one of the values would be taken for those of both."""
    answer = await http.get(f"/api/jobs?{query}")
    assert answer.status_code == 422
    assert "takes one value: give it once" in answer.json()["error"]["message"]
    assert (await http.get("/api/jobs?state=failed&state=success")).status_code == 200


@pytest.mark.parametrize(
    "header",
    [
        "X-Forwarded-Proto",
        "X-Forwarded-Server",
        "X-Client-IP",
        "True-Client-IP",
        "CF-Connecting-IP",
        "X-Original-URL",
    ],
)
async def test_nobody_comes_in_without_a_key_through_a_proxy(http: httpx2.AsyncClient, header: str) -> None:
    assert (await http.get("/api/jobs", headers={header: "x"})).status_code == 401


async def test_a_stranger_cannot_choose_the_address_that_it_comes_from(serve: Any, app: Kairos) -> None:
    await app.run(verbs.add_key("a", ["read"]))
    async with serve(rate=0.01, burst=3) as served:
        answers = [
            (await served.http.get("/api/jobs", headers={"X-Forwarded-For": f"192.0.2.{number}"})).status_code
            for number in range(5)
        ]
        assert answers == [401, 401, 401, 429, 429]


async def test_metrics_tell_what_they_know_while_the_database_is_away(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kairos.api.stats_cache import StatsCache
    from kairos.errors import DatabaseUnavailable

    assert "kairos_database_up 1.0" in (await served.http.get("/metrics")).text

    async def away(*_: Any) -> None:
        raise DatabaseUnavailable("away")

    monkeypatch.setattr(StatsCache, "read", away)
    answer = await served.http.get("/metrics")
    assert answer.status_code == 200
    assert "kairos_database_up 0.0" in answer.text and "kairos_http_requests_total" in answer.text
    assert "kairos_jobs{" not in answer.text
