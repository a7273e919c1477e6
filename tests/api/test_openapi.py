"""The description of the service: complete, true, and pleasant to generate a client from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from tests.api.service_process import Served

from kairos import Kairos
from kairos.api import build
from kairos.api.route_scopes import ROUTE_SCOPES
from kairos.api.schemas import audit, keys, meta, sessions
from kairos.api.schemas.base import Answer, ErrorEnvelope

DOCUMENT = build(Kairos("postgresql://nobody@localhost/none")).openapi()
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_says_what_it_is_what_it_takes_and_how_it_fails(name: str) -> None:
    operation = OPERATIONS[name]
    assert re.fullmatch(r"[a-z]+([A-Z][a-z]*)*", operation["operationId"])
    assert operation["summary"] and operation["description"].endswith(".")
    assert len(operation["tags"]) == 1
    method, path = name.split(" ")
    scope = ROUTE_SCOPES[method, path]
    assert operation["x-scope"] == (scope or "public")
    assert operation["security"] == ([{"key": []}, {"session": []}] if scope else [])
    for status, response in operation["responses"].items():
        if status == "default" or int(status) >= 400:
            assert response["content"]["application/json"]["schema"]["$ref"].endswith("/ErrorEnvelope")
        else:
            content = response.get("content", {} if name != "GET /metrics" else {"text/plain": {}})
            kinds = ("text/event-stream", "text/plain")
            assert (
                status == "204"
                or any(kind.startswith(kinds) for kind in content)
                or (content["application/json"]["schema"])
            ), f"{status} has no shape"


def test_no_two_operations_share_a_name_and_every_tag_is_explained() -> None:
    ids = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(set(ids)) == len(ids)
    used = {tag for operation in OPERATIONS.values() for tag in operation["tags"]}
    assert used == {tag["name"] for tag in DOCUMENT["tags"]}


def test_everything_it_refers_to_is_there() -> None:
    models = DOCUMENT["components"]["schemas"]
    named = {each.removeprefix("#/components/schemas/") for each in references(DOCUMENT)}
    assert named <= set(models)
    assert "HTTPValidationError" not in models


def test_every_route_is_in_it_but_its_own(open_service: Any) -> None:
    assert set(OPERATIONS) == {f"{method} {path}" for method, path in ROUTE_SCOPES} - {"GET /openapi.json"}
    assert open_service.http.get("/openapi.json").json() == DOCUMENT
    for page in ("/docs", "/redoc"):
        assert open_service.http.get(page).status_code == 404


async def test_the_answers_about_access_are_what_it_says(served: Served) -> None:
    http = served.http
    await http.delete("/api/keys/0")

    async def check(model: type[Answer], response: httpx2.Response, status: int = 200) -> Any:
        assert response.status_code == status
        model.model_validate(response.json())
        return response.json()

    await check(meta.Health, await http.get("/healthz"))
    await check(meta.Health, await http.get("/readyz"))
    await check(meta.Version, await http.get("/api/version"))
    await check(sessions.SessionAnswer, await http.get("/api/session"))
    await check(audit.AuditList, await http.get("/api/audit"))
    await check(ErrorEnvelope, await http.get("/api/nothing"), 404)
    wanted = {"name": "x", "scopes": ["admin"], "expiresAt": "2099-01-01T00:00:00Z"}
    made = await check(keys.KeyMade, await http.post("/api/keys", json=wanted), 201)
    http.headers["Authorization"] = f"Bearer {made['key']['secret']}"
    await check(keys.KeyList, await http.get("/api/keys"))
    signed_in = await http.post("/api/session", json={"key": made["key"]["secret"]})
    await check(sessions.SessionAnswer, signed_in, 201)
    await check(Answer, await http.delete("/api/session"))
    await check(keys.KeyAnswer, await http.delete(f"/api/keys/{made['key']['id']}"))


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "$ref":
                yield inner
            else:
                yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)
