"""Every answer has one shape and an id, also when nobody expected what happened."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
import psycopg
import pytest
from fastapi import APIRouter, Request
from starlette.responses import Response
from tests.api.service_process import Shared, serving, shared
from tests.captured_logs import capture_logs

from kairos import Kairos
from kairos.api import ServiceSettings, build, route_scopes
from kairos.api.app import Service
from kairos.api.responses import answer
from kairos.errors import DatabaseUnavailable, Duplicate, InvalidTransition
from kairos.schedule import IntentError, when
from kairos.shapes.job import Job

ODD = APIRouter()


@ODD.get("/odd/surprise")
async def surprise(request: Request) -> Response:
    raise ZeroDivisionError("select secret from passwords")


@ODD.get("/odd/away")
async def away(request: Request) -> Response:
    raise DatabaseUnavailable("Postgres cannot be reached: no such file: /run/postgres")


@ODD.get("/odd/moved")
async def moved(request: Request) -> Response:
    raise InvalidTransition("It cannot.", current="success", target="cancelled", allowed=["retry"])


@ODD.get("/odd/intent")
async def intent(request: Request) -> Response:
    when("every mundane")
    raise AssertionError


@ODD.get("/odd/half")
async def half(request: Request) -> Response:
    async def parts():  # type: ignore[no-untyped-def]
        yield b"half"
        raise ZeroDivisionError("half way")

    from starlette.responses import StreamingResponse

    return StreamingResponse(parts())


@ODD.get("/odd/number")
async def number(request: Request, limit: int) -> Response:
    return answer(request, {"limit": limit})


@pytest.fixture(scope="module")
def odd(shared_database: str) -> Iterator[Shared]:
    def make(kairos: Kairos) -> Service:
        rows = {("GET", route.path_format): route_scopes.PUBLIC for route in ODD.routes}  # type: ignore[attr-defined]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(route_scopes, "ROUTE_SCOPES", {**route_scopes.ROUTE_SCOPES, **rows})
            return build(kairos, ServiceSettings(open=True), routers=[ODD])

    with shared(shared_database, make) as running:
        yield running


def error(response: httpx2.Response, status: int) -> dict[str, object]:
    """The error in the envelope, whose shape is checked."""
    assert response.status_code == status, response.text
    body = response.json()
    assert set(body) == {"requestId", "error"}
    assert body["requestId"] == response.headers["X-Request-Id"]
    assert {"code", "message"} <= set(body["error"]) <= {"code", "message", "details"}
    assert body["error"]["message"].endswith((".", "!"))
    return dict(body["error"])


def test_an_unknown_path_is_told_in_the_envelope(open_service: Shared) -> None:
    assert error(open_service.http.get("/api/nothing"), 404)["code"] == "NOT_FOUND"


def test_a_method_that_a_path_does_not_take_is_told_with_those_it_takes(open_service: Shared) -> None:
    response = open_service.http.put("/api/keys", json={})
    assert error(response, 405)["code"] == "METHOD_NOT_ALLOWED"
    assert response.headers["Allow"] == "GET, HEAD, POST"
    assert open_service.http.options("/api/keys").headers["Allow"] == "GET, HEAD, POST"


def test_a_field_that_is_wrong_is_named_and_not_repeated(open_service: Shared) -> None:
    response = open_service.http.post("/api/keys", json={"name": "x", "scopes": ["admin", "topsecret"]})
    details = error(response, 422)["details"]
    assert details["field"] == "scopes[1]"  # type: ignore[index]
    assert "topsecret" not in response.text
    response = open_service.http.post("/api/keys", json={"name": "x", "scopes": ["admin"], "status": 1})
    assert error(response, 422)["details"]["field"] == "status"  # type: ignore[index]
    assert error(open_service.http.get("/api/keys?limit=0"), 422)["details"]["field"] == "limit"  # type: ignore[index]


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({"action": "echo", "inputs": {}}, "inputs", "there is no such field. Did you mean 'input'?"),
        (
            {"action": "echo", "retry": {"attemps": 2}},
            "retry.attemps",
            "there is no such field. Did you mean 'attempts'?",
        ),
        ({"action": "echo", "zzz": 1}, "zzz", "there is no such field. Known: action, "),
    ],
    ids=["field", "inside", "far"],
)
def test_a_misspelled_field_is_named_with_the_one_that_was_meant(
    open_service: Shared, body: dict[str, object], field: str, said: str
) -> None:
    error = open_service.http.post("/api/jobs", json=body).json()["error"]
    assert error["message"].startswith(f"{field}: {said}")
    assert error["details"]["field"] == field
    assert error["details"]["errors"][0]["message"].startswith(said)


@pytest.mark.parametrize("given", ["abc-123", "A" * 64, "01HX:7.b_c"])
def test_a_callers_own_request_id_is_taken_over(open_service: Shared, given: str) -> None:
    response = open_service.http.get("/healthz", headers={"X-Request-Id": given})
    assert response.headers["X-Request-Id"] == response.json()["requestId"] == given


@pytest.mark.parametrize("given", ["", "a b", "A" * 65, "<script>", "-x", "a;b", "ä"], ids=ascii)
def test_a_request_id_that_could_do_harm_is_replaced(open_service: Shared, given: str) -> None:
    response = open_service.http.get("/healthz", headers={"X-Request-Id": given.encode()})
    assert re.fullmatch(r"req_[0-9a-f]{24}", response.headers["X-Request-Id"])


def test_an_error_nobody_expected_is_logged_with_its_stack_and_tells_the_caller_nothing(odd: Shared) -> None:
    with capture_logs() as logs:
        response = odd.http.get("/odd/surprise", headers={"X-Request-Id": "look-me-up"})
    assert error(response, 500)["code"] == "INTERNAL"
    assert "look-me-up" in response.text
    assert not re.search(r"Traceback|ZeroDivision|select|passwords|\.py", response.text)
    assert response.headers["Content-Security-Policy"] and response.headers["X-Frame-Options"]
    (entry,) = [each for each in logs if each["log_level"] == "error"]
    assert "ZeroDivisionError" in entry["stack"] and entry["path"] == "/odd/surprise"


def test_an_answer_that_breaks_half_way_does_not_look_whole(odd: Shared) -> None:
    with capture_logs(), pytest.raises(httpx2.TransportError):
        odd.http.get("/odd/half")


def test_errors_of_the_tree_come_with_their_status_and_what_a_program_needs(odd: Shared) -> None:
    response = odd.http.get("/odd/away")
    assert error(response, 503)["code"] == "UNAVAILABLE"
    assert "/run/postgres" not in response.text
    assert int(response.headers["Retry-After"]) > 0
    assert error(odd.http.get("/odd/moved"), 409)["details"] == {
        "state": "success",
        "target": "cancelled",
        "allowed": ["retry"],
    }
    details = error(odd.http.get("/odd/intent"), 422)["details"]
    assert set(details) >= {"position", "length", "suggestions"}  # type: ignore[call-overload]
    assert error(odd.http.get("/odd/number?limit=x"), 422)["details"]["field"] == "limit"  # type: ignore[index]
    assert error(odd.http.get("/odd/number"), 422)["details"]["field"] == "limit"  # type: ignore[index]


@pytest.mark.parametrize("path", ["/healthz", "/api/version", "/api/keys", "/api/nothing", "/openapi.json"])
def test_head_answers_as_get_without_the_body(open_service: Shared, path: str) -> None:
    asked, whole = open_service.http.head(path), open_service.http.get(path)
    assert (asked.status_code, asked.content) == (whole.status_code, b"")
    assert asked.headers["Content-Type"] == whole.headers["Content-Type"]


async def test_while_the_database_is_away_the_service_says_so_and_comes_back_by_itself(
    http: httpx2.AsyncClient, database: str, kairos_admin: psycopg.Connection[tuple[object]]
) -> None:
    name = urlsplit(database).path.removeprefix("/")
    kairos_admin.execute(f"alter database {name} allow_connections false".encode())
    kairos_admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [name])
    for method, path in (("GET", "/readyz"), ("GET", "/api/keys"), ("POST", "/api/keys")):
        body = {"json": {"name": "x", "scopes": ["read"]}} if method == "POST" else {}
        response = await http.request(method, path, **body)
        assert error(response, 503)["code"] == "UNAVAILABLE"
        assert response.headers["Retry-After"]
    assert (await http.get("/healthz")).status_code == 200
    kairos_admin.execute(f"alter database {name} allow_connections true".encode())
    assert (await http.get("/readyz")).status_code == 200
    assert (await http.get("/api/keys")).json()["keys"] == []


async def test_a_schema_that_does_not_fit_is_not_ready(kairos_database: str) -> None:
    async with Kairos(kairos_database) as app, serving(app) as served:
        with psycopg.connect(kairos_database, autocommit=True) as connection:
            connection.execute("delete from kairos.migrations where version > 1")
        assert error(await served.http.get("/readyz"), 503)["code"] == "SCHEMA_MISMATCH"


def test_a_taken_key_names_the_job_that_holds_it() -> None:
    from kairos.api.errors import refusal

    job = Job(7, "act", 1, "pending", "run", 0, "default", 0, None, (), {})  # type: ignore[arg-type]
    body = refusal("r", Duplicate("Taken.", job=job)).body
    assert b'"details":{"job":7,"state":"pending"}' in bytes(body)
    assert issubclass(IntentError, Exception)
