"""Keys over HTTP: shown once, kept as a hash, refused once they are expired or revoked."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import psycopg
import pytest
from tests.api.service_process import Served

from kairos import Kairos
from kairos.api import authentication
from kairos.operations import keys as verbs
from kairos.testing import Clock

Serve = Callable[..., Any]


async def token_of(app: Kairos, *scopes: str, **options: Any) -> str:
    return str((await app.run(verbs.add_key("a test", scopes, **options)))[1])


async def test_a_key_is_shown_once_and_only_its_hash_is_kept(http: httpx2.AsyncClient, database: str) -> None:
    made = await http.post("/api/keys", json={"name": "billing", "scopes": ["enqueue", "read"]})
    assert made.status_code == 201
    key = made.json()["key"]
    assert re.fullmatch(r"kr_[0-9a-f]{16}_[A-Za-z0-9_-]{43}", key["secret"])
    assert (key["name"], key["scopes"], key["createdBy"]) == ("billing", ["read", "enqueue"], "local")
    secret = key["secret"].split("_", 2)[2]
    with psycopg.connect(database) as connection:
        for (table,) in connection.execute("select tablename from pg_tables where schemaname = 'kairos'"):
            kept = connection.execute(f"select t::text from kairos.{table} t".encode()).fetchall()
            assert secret not in str(kept), table


async def test_keys_are_listed_newest_first_in_pages_without_their_secrets(
    app: Kairos, served: Served
) -> None:
    admin = await token_of(app, "admin")
    for number in range(4):
        await app.run(verbs.add_key(f"key {number}", ["read"]))
    async with served.as_key(admin) as http:
        first = (await http.get("/api/keys?limit=3")).json()
        rest = (await http.get("/api/keys", params={"cursor": first["nextCursor"], "limit": 3})).json()
    names = [key["name"] for key in first["keys"] + rest["keys"]]
    assert names == ["key 3", "key 2", "key 1", "key 0", "a test"]
    assert rest["nextCursor"] is None
    assert not any("secret" in key for key in first["keys"])


async def test_a_revoked_key_is_refused_at_once_where_it_was_revoked(app: Kairos, served: Served) -> None:
    admin, reader = await token_of(app, "admin"), await token_of(app, "read")
    async with served.as_key(admin) as http, served.as_key(reader) as other:
        assert (await other.get("/api/session")).status_code == 200
        answer = await http.delete(f"/api/keys/{reader.split('_')[1]}")
        assert (answer.status_code, answer.json()["key"]["revokedAt"] is not None) == (200, True)
        assert (await other.get("/api/session")).status_code == 401
        again = await http.delete(f"/api/keys/{reader.split('_')[1]}")
        assert again.json()["key"]["revokedAt"] == answer.json()["key"]["revokedAt"]
        assert (await http.delete("/api/keys/0000")).status_code == 404


async def test_a_key_revoked_elsewhere_is_refused_once_it_is_no_longer_remembered(
    app: Kairos, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await token_of(app, "read")
    async with served.as_key(token) as http:
        assert (await http.get("/api/session")).status_code == 200
        await app.run(verbs.revoke_key(token.split("_")[1]))
        later = authentication.time.monotonic() + authentication.REMEMBERED
        monkeypatch.setattr(
            authentication, "time", type("Later", (), {"monotonic": staticmethod(lambda: later)})
        )
        assert (await http.get("/api/session")).status_code == 401


async def test_a_key_is_refused_from_the_moment_it_expires(app: Kairos, served: Served) -> None:
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    clock = await Clock(app).install()
    token = await token_of(app, "read", expires_at=moment)
    async with served.as_key(token) as http:
        for before, status in ((1, 200), (0, 401), (-1, 401)):
            await clock.freeze(moment - timedelta(microseconds=before))
            served.service.access.clear_cache()
            assert (await http.get("/api/session")).status_code == status


async def test_the_last_use_of_a_key_is_noted_at_most_once_a_minute(app: Kairos, served: Served) -> None:
    token = await token_of(app, "admin")
    moment = datetime(2030, 1, 1, tzinfo=UTC)

    async def last_used(http: httpx2.AsyncClient) -> str:
        served.service.access.clear_cache()
        return str((await http.get("/api/keys")).json()["keys"][0]["lastUsedAt"])

    clock = await Clock(app).install()
    async with served.as_key(token) as http:
        for seconds, noted in ((0, 0), (60, 0), (61, 61)):
            await clock.freeze(moment + timedelta(seconds=seconds))
            expected = (moment + timedelta(seconds=noted)).isoformat().replace("+00:00", "Z")
            assert await last_used(http) == expected


@pytest.mark.parametrize(
    "given",
    [
        "",
        "Bearer",
        "Bearer kr_",
        "Bearer kr_0000_x",
        "Basic eDp5",
        "Bearer {id}",
        "Bearer kr_{id}_wrong",
        "{token}",
    ],
)
async def test_what_is_not_a_key_is_refused(app: Kairos, served: Served, given: str) -> None:
    token = await token_of(app, "admin")
    sent = given.format(id=token.split("_")[1], token=token)
    answer = await served.http.get("/api/keys", headers={"Authorization": sent})
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "UNAUTHORIZED")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert token.split("_", 2)[2] not in answer.text


async def test_a_miss_is_compared_as_carefully_as_a_hit(
    app: Kairos, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[int, int]] = []
    real = verbs.hmac.compare_digest

    def compare(left: bytes, right: bytes) -> bool:
        compared.append((len(left), len(right)))
        return real(left, right)

    monkeypatch.setattr(verbs.hmac, "compare_digest", compare)
    token = await token_of(app, "read")
    for sent in (token, f"kr_{'0' * 16}_x", "nonsense"):
        await served.http.get("/api/session", headers={"Authorization": f"Bearer {sent}"})
    assert compared == [(32, 32)] * 3


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"scopes": ["read"]}, "name"),
        ({"name": "", "scopes": ["read"]}, "name"),
        ({"name": "x", "scopes": []}, "scopes"),
        ({"name": "x", "scopes": ["root"]}, "scopes[0]"),
        ({"name": "x", "scopes": ["read"], "expiresAt": "2030-01-01T00:00:00"}, "expiresAt"),
        ({"name": "x", "scopes": ["read"], "id": "mine"}, "id"),
        ({"name": "a\nb", "scopes": ["read"]}, "name"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else None,
)
async def test_a_key_that_makes_no_sense_is_refused_with_the_field(
    http: httpx2.AsyncClient, body: dict[str, Any], field: str
) -> None:
    answer = await http.post("/api/keys", json=body)
    assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (422, field)
