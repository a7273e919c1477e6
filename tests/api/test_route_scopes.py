"""Every route × every kind of caller: who is let in is what the policy says, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import httpx2
import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute
from tests.api.service_process import Shared, shared

from kairos import Kairos
from kairos.api import ServiceSettings, build
from kairos.api.app import ROUTERS
from kairos.api.caller import Caller
from kairos.api.route_scopes import PUBLIC, ROUTE_SCOPES, UnlistedRoute
from kairos.operations.keys import revoke_key
from kairos.shapes.key import Scope

ROUTES = [(method, path) for method, path in ROUTE_SCOPES]
NAMES = [f"{method} {path}" for method, path in ROUTES]
HOLDERS = [*Scope]
# Which scopes contain which: written out here, so that a slip there shows.
ALLOWS = {
    "read": {"read", "enqueue", "operate", "admin"},
    "enqueue": {"enqueue", "operate", "admin"},
    "operate": {"operate", "admin"},
    "admin": {"admin"},
}


@pytest.fixture(scope="module")
def service(shared_database: str) -> Iterator[Shared]:
    settings = ServiceSettings(open=True, rate=1e6, burst=1_000_000)  # open, and yet closed: there are keys
    with shared(shared_database, lambda kairos: build(kairos, settings)) as running:
        yield running


@pytest.fixture(scope="module")
def tokens(service: Shared) -> dict[str, str]:
    """One key of each scope, one that was revoked and one that has expired."""
    from kairos import SyncKairos

    tokens = {str(scope): service.keys(scope) for scope in Scope}
    tokens["revoked"] = service.keys("admin")
    tokens["expired"] = service.keys("admin", expires_at=datetime(2020, 1, 1, tzinfo=UTC))
    with SyncKairos(service.service.state.kairos.settings.database_url) as kairos:
        kairos.run(revoke_key(tokens["revoked"].split("_")[1]))
    return tokens


def ask(service: Shared, method: str, path: str, token: str | None, **headers: str) -> httpx2.Response:
    """A request that nothing comes of: what it names is not there, and its body is nonsense."""
    sent = {**headers, **(service.as_key(token) if token else {})}
    body = (
        {}
        if method in ("GET", "HEAD", "OPTIONS")
        else {"content": b"[]", "headers": {"Content-Type": "application/json"}}
    )
    sent.update(body.pop("headers", {}))  # type: ignore[call-overload]
    with service.http.stream(method, service.url + filled(path), headers=sent, **body) as response:
        if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
            response.read()
        return response


def filled(path: str) -> str:
    return path.replace("{id}", "999999999").replace("{name}", "nothing").replace("{verb}", "cancel")


@pytest.mark.parametrize(("method", "path"), ROUTES, ids=NAMES)
def test_a_route_lets_in_whom_the_policy_names(
    service: Shared, tokens: dict[str, str], method: str, path: str
) -> None:
    needs = ROUTE_SCOPES[method, path]
    for nobody in (None, tokens["revoked"], tokens["expired"], "kr_0_0"):
        status = ask(service, method, path, nobody).status_code
        assert (status == 401) is (needs is not PUBLIC), (nobody, status)
    for scope in Scope:
        status = ask(service, method, path, tokens[scope]).status_code
        assert status != 401
        may = needs is PUBLIC or str(scope) in ALLOWS[str(needs)]
        assert (status == 403) is not may, (scope, status)


@pytest.mark.parametrize(
    ("method", "path"), [each for each in ROUTES if ROUTE_SCOPES[each] is not PUBLIC], ids=lambda part: part
)
def test_there_is_no_way_around_the_door(
    service: Shared, tokens: dict[str, str], method: str, path: str
) -> None:
    """Other spellings of a path and of a method end at the same door, or nowhere."""
    refused = {401, 404, 405}
    others = ("/api//", "/api%2f", "/API/", "//api/", "/x/../api/", "/%2e/api/", "/api/./")
    for other in (*(path.replace("/api/", each) for each in others), f"{path}/", f"{path};a=b", f"{path}%00"):
        assert ask(service, method, other, None).status_code in refused, other
    for sent in ("HEAD", "OPTIONS", "TRACE", "PROPFIND"):
        assert ask(service, sent, path, None).status_code in refused, sent
    for header in ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"):
        assert ask(service, "GET", path, None, **{header: method}).status_code in refused
    for header in ("X-Original-URL", "X-Rewrite-URL"):
        assert ask(service, method, path, None, **{header: "/healthz"}).status_code == 401
    if method == "GET":
        assert ask(service, "HEAD", path, tokens["admin"]).status_code not in (401, 403, 405)


def test_a_reader_cannot_hide_a_change_behind_a_method_it_may_use(
    service: Shared, tokens: dict[str, str]
) -> None:
    for header in ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"):
        response = service.http.get(
            "/api/session", headers={header: "DELETE", **service.as_key(tokens["read"])}
        )
        assert response.json()["session"]["scopes"] == ["read"]


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    routes = [route for router in ROUTERS for route in router.routes]
    assert all(isinstance(route, APIRoute) for route in routes)
    found = {(method, route.path_format) for route in routes for method in route.methods}  # type: ignore[attr-defined]
    assert found == set(ROUTE_SCOPES)


def test_a_route_without_a_row_refuses_to_be_built() -> None:
    router = APIRouter()

    @router.get("/api/forgotten")
    async def forgotten() -> None: ...

    with pytest.raises(UnlistedRoute, match="GET /api/forgotten has no row"):
        build(Kairos("postgresql:///nowhere"), routers=[router])


def test_a_change_never_hides_behind_a_safe_method() -> None:
    """What reading takes is `read`, or `admin` where it is about access; no GET takes the scope of a change."""
    assert {ROUTE_SCOPES[each] for each in ROUTES if each[0] == "GET"} <= {PUBLIC, Scope.READ, Scope.ADMIN}


@pytest.mark.parametrize("held", HOLDERS)
def test_a_wider_scope_contains_the_narrower_ones(held: Scope) -> None:
    caller = Caller("x", "x", frozenset({held}))
    assert {scope for scope in Scope if caller.may(scope)} == {
        Scope(s) for s, by in ALLOWS.items() if held in by
    }
    assert not any(Caller("x", "x", frozenset()).may(scope) for scope in Scope)
