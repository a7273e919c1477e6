"""Open access: only without keys, only under the names of this machine, never for another site's pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from tests.api.service_process import Served

from kairos import Kairos
from kairos.operations import keys as verbs

Serve = Callable[..., Any]
WANTED = {"name": "x", "scopes": ["read"]}


async def test_without_keys_everybody_here_is_the_caller_local(http: httpx2.AsyncClient) -> None:
    session = (await http.get("/api/session")).json()["session"]
    assert (session["name"], session["scopes"], session["open"]) == ("local", ["admin"], True)
    assert session["csrf"]


async def test_from_the_first_key_on_keys_are_required(served: Served) -> None:
    made = await served.http.post("/api/keys", json={**WANTED, "scopes": ["admin"]})
    assert (await served.http.get("/api/keys")).status_code == 401
    key = made.json()["key"]
    async with served.as_key(key["secret"]) as http:
        # Also when the only key there ever was is good no more: nothing opens by itself.
        assert (await http.delete(f"/api/keys/{key['id']}")).status_code == 200
        assert (await http.get("/api/keys")).status_code == 401
    assert (await served.http.get("/api/keys")).status_code == 401


async def test_a_key_that_somebody_else_made_closes_the_door_within_seconds(
    app: Kairos, served: Served
) -> None:
    assert (await served.http.get("/api/keys")).status_code == 200
    await app.run(verbs.add_key("x", ["read"]))
    served.service.access.clear_cache()  # as a second later
    assert (await served.http.get("/api/keys")).status_code == 401


async def test_a_service_that_was_not_opened_lets_nobody_in(serve: Serve) -> None:
    async with serve() as served:
        assert (await served.http.get("/api/keys")).status_code == 401
        assert (await served.http.get("/healthz")).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "evil.example:8765", "", "10.0.0.1", "[::ffff:10.0.0.1]"],
)
async def test_an_open_service_answers_to_no_name_but_this_machines(
    http: httpx2.AsyncClient, host: str
) -> None:
    answer = await http.get("/api/keys", headers={"Host": host})
    assert (answer.status_code, answer.json()["error"]["code"]) == (421, "MISDIRECTED")
    assert answer.headers["X-Request-Id"] and answer.headers["X-Frame-Options"]


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.1", "127.8.9.1:1", "[::1]", "[::1]:8765", "localhost."]
)
async def test_an_open_service_answers_to_the_names_of_this_machine(
    http: httpx2.AsyncClient, host: str
) -> None:
    assert (await http.get("/api/keys", headers={"Host": host})).status_code == 200


async def test_whoever_probes_need_not_know_our_name(http: httpx2.AsyncClient) -> None:
    assert (await http.get("/healthz", headers={"Host": "10.1.2.3"})).status_code == 200


async def test_a_service_with_names_answers_to_those_alone(serve: Serve, app: Kairos) -> None:
    _, token = await app.run(verbs.add_key("x", ["admin"]))
    async with serve(allowed_hosts=("jobs.example",), host="0.0.0.0") as served, served.as_key(token) as http:
        for host, status in (
            ("jobs.example", 200),
            ("Jobs.Example:443", 200),
            ("evil.example", 421),
            ("localhost", 421),
        ):
            assert (await http.get("/api/keys", headers={"Host": host})).status_code == status, host


async def test_a_closed_service_without_names_answers_to_all(serve: Serve, app: Kairos) -> None:
    _, token = await app.run(verbs.add_key("x", ["admin"]))
    async with serve() as served, served.as_key(token) as http:
        assert (await http.get("/api/keys", headers={"Host": "jobs.example"})).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
async def test_another_sites_page_cannot_make_changes_through_the_open_door(
    http: httpx2.AsyncClient, headers: dict[str, str]
) -> None:
    answer = await http.post("/api/keys", json=WANTED, headers=headers)
    assert answer.status_code == 403
    assert (await http.delete("/api/keys/0", headers=headers)).status_code == 403
    assert (await http.get("/api/keys")).json()["keys"] == []


async def test_a_program_and_the_dashboard_itself_can_make_changes(served: Served) -> None:
    url = served.url
    headers = {"Origin": url, "Sec-Fetch-Site": "same-origin"}
    answer = await served.http.delete("/api/keys/0", headers=headers)
    assert answer.status_code == 404
    assert (await served.http.post("/api/keys", json=WANTED)).status_code == 201


async def test_an_old_cookie_does_not_shut_anybody_out_of_an_open_service(http: httpx2.AsyncClient) -> None:
    http.cookies.set("kairos_session", "ks_0_old")
    assert (await http.get("/api/session")).json()["session"]["open"] is True


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "X-Forwarded-Host"])
async def test_what_comes_through_a_proxy_is_not_local(http: httpx2.AsyncClient, header: str) -> None:
    assert (await http.get("/api/keys", headers={header: "203.0.113.9"})).status_code == 401


async def test_a_service_mounted_in_another_program_is_closed_unless_it_was_opened(app: Kairos) -> None:
    outer = Starlette()
    outer.mount("/kairos", app.asgi())
    outer.mount("/open", app.asgi(open=True, allowed_hosts="outer.example"))
    transport = httpx2.ASGITransport(outer)
    async with httpx2.AsyncClient(transport=transport, base_url="http://outer.example") as http:
        assert (await http.get("/kairos/healthz")).status_code == 200
        closed = await http.get("/kairos/api/keys")
        assert (closed.status_code, closed.headers["Cache-Control"]) == (401, "no-store")
        assert (await http.get("/open/api/keys")).status_code == 200
        assert (await http.get("/open/api/keys", headers={"Host": "evil.example"})).status_code == 421
        made = await http.post("/open/api/keys", json={**WANTED, "scopes": ["admin"]})
        signed_in = await http.post("/kairos/api/session", json={"key": made.json()["key"]["secret"]})
        assert "Path=/kairos;" in signed_in.headers["Set-Cookie"]
        assert (await http.get("/kairos/api/session")).json()["session"]["name"] == "x"
        assert (await http.get("/open/api/session")).status_code == 401
        assert (await http.put("/kairos/api/keys", json={})).headers["Allow"] == "GET, HEAD, POST"
