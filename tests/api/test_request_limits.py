"""What holds for every request: bodies that can be trusted, headers that protect, callers that take turns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from tests.api.service_process import Shared, shared

from kairos import Kairos
from kairos.api import ServiceSettings, build
from kairos.api.rate_limiter import RateLimiter
from kairos.errors import TooManyRequests
from kairos.operations import keys as verbs

Serve = Callable[..., Any]
LIMIT = 2000


@pytest.fixture(scope="module")
def narrow(shared_database: str) -> Iterator[Shared]:
    """A service that takes small bodies only."""
    settings = ServiceSettings(open=True, body_limit=LIMIT)
    with shared(shared_database, lambda kairos: build(kairos, settings)) as running:
        yield running


def sized(size: int) -> bytes:
    """A body of exactly so many bytes that is refused for its field, not for its size."""
    empty = b'{"unknown":""}'
    return empty.replace(b'""', b'"' + b"x" * (size - len(empty)) + b'"')


def post(service: Shared, body: Any, **headers: str) -> httpx2.Response:
    sent = {
        "Content-Type": "application/json",
        **{name.replace("_", "-"): text for name, text in headers.items()},
    }
    return service.http.post("/api/keys", content=body, headers=sent)


def pieces(body: bytes) -> Iterator[bytes]:
    """The body in small chunks, without a length announced."""
    for start in range(0, len(body), 100):
        yield body[start : start + 100]


@pytest.mark.parametrize("chunked", [False, True], ids=["with its length", "in chunks"])
@pytest.mark.parametrize(("size", "status"), [(LIMIT - 1, 422), (LIMIT, 422), (LIMIT + 1, 413)])
def test_a_body_may_be_as_large_as_the_limit_and_not_a_byte_larger(
    narrow: Shared, size: int, status: int, chunked: bool
) -> None:
    body = sized(size)
    assert len(body) == size
    response = post(narrow, pieces(body) if chunked else body)
    assert response.status_code == status, response.text
    if status == 413:
        assert response.json()["error"]["code"] == "TOO_LARGE"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"{", "body"),
        (b"nonsense", "body"),
        (b"\xff\xfe", "body"),
        (b'{"name": "a", "name": "b"}', "body"),
        (b'{"name": "a\\u0000b", "scopes": ["read"]}', "name"),
        (b'{"name": "\\ud800", "scopes": ["read"]}', "name"),
        (b'{"name": NaN}', "name"),
        (b'{"name": Infinity}', "name"),
        (b'{"scopes": [1e400]}', "scopes[0]"),
        (b'{"scopes": [-1e400]}', "scopes[0]"),
        (b'{"scopes": ' + b"[" * 64 + b"]" * 64 + b"}", None),
        (b"[" * 900 + b"]" * 900, None),
        (b'{"a":' * 300 + b"1" + b"}" * 300, None),
        (b'{"name": ' + b"9" * 1500 + b"}", "name"),
    ],
    ids=[
        "half", "no JSON", "no UTF-8", "a key twice", "NUL", "half a pair", "NaN", "Infinity", "1e400", "-1e400",
        "65 deep", "900 deep", "300 objects", "a long number",
    ],
)  # fmt: skip
def test_json_that_cannot_be_kept_is_refused_with_its_place(
    narrow: Shared, body: bytes, field: str | None
) -> None:
    response = post(narrow, body)
    assert response.status_code == 422, response.text
    if field is not None:
        assert response.json()["error"]["details"]["field"] == field


@pytest.mark.parametrize(("levels", "deep"), [(63, False), (64, False), (65, True)])
def test_a_body_may_be_nested_as_deep_as_the_limit(narrow: Shared, levels: int, deep: bool) -> None:
    response = post(narrow, b'{"scopes": ' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}")
    assert response.status_code == 422
    assert ("nested" in response.text) is deep


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonx",
    ],
)
def test_a_body_that_is_not_declared_as_json_is_refused(narrow: Shared, kind: str) -> None:
    response = post(narrow, b'{"name": "x", "scopes": ["read"]}', Content_Type=kind)
    assert (response.status_code, response.json()["error"]["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "Application/JSON"])
def test_json_may_be_declared_in_any_spelling(narrow: Shared, kind: str) -> None:
    assert post(narrow, b"{}", Content_Type=kind).status_code == 422


PATHS = [
    "/",
    "/healthz",
    "/readyz",
    "/api/version",
    "/api/keys",
    "/api/nothing",
    "/openapi.json",
    "/%2e%2e/etc",
]


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("path", PATHS)
def test_every_answer_has_its_id_and_the_headers_that_protect(
    open_service: Shared, method: str, path: str
) -> None:
    headers = open_service.http.request(method, path).headers
    assert headers["X-Request-Id"]
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert (policy["default-src"], policy["frame-ancestors"], policy["base-uri"]) == (
        "'self'",
        "'none'",
        "'none'",
    )
    assert re.fullmatch(r"'self'( 'sha256-[\w+/=]+')*", policy["script-src"])
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "Server" not in headers
    if path.startswith("/api"):
        assert headers["Cache-Control"] == "no-store"


async def test_each_key_has_a_rate_of_its_own_and_is_told_when_to_go_on(serve: Serve, app: Kairos) -> None:
    tokens = [(await app.run(verbs.add_key(name, ["read"])))[1] for name in "ab"]
    async with serve(rate=0.01, burst=3) as served:
        async with served.as_key(tokens[0]) as one, served.as_key(tokens[1]) as other:
            answers = [await one.get("/api/session") for _ in range(5)]
            assert [each.status_code for each in answers] == [200, 200, 200, 429, 429]
            assert (await other.get("/api/session")).status_code == 200
        assert answers[-1].json()["error"]["code"] == "TOO_MANY_REQUESTS"
        assert 1 <= int(answers[-1].headers["Retry-After"]) <= 100
        # Whoever has no key shares the rate of an address, and probes have none.
        assert [(await served.http.get("/api/keys")).status_code for _ in range(4)] == [401, 401, 401, 429]
        assert [(await served.http.get("/healthz")).status_code for _ in range(5)] == [200] * 5


async def test_keys_that_are_none_cost_no_statements_past_the_rate_of_their_address(
    serve: Serve, app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, token = await app.run(verbs.add_key("a", ["read"]))
    looked: list[str] = []

    def key_of(token: str) -> Any:
        looked.append(token)
        return verbs.key_of(token)

    monkeypatch.setattr("kairos.api.authentication.key_of", key_of)
    async with (
        serve(rate=0.01, burst=3) as served,
        served.as_key(token) as known,
        served.as_key("kr_0_no") as no,
    ):
        assert (await known.get("/api/session")).status_code == 200
        answers = [(await no.get("/api/session")).status_code for _ in range(5)]
        assert answers == [401, 401, 401, 429, 429]
        assert looked == [token, *["kr_0_no"] * 3]
        assert (await known.get("/api/session")).status_code == 200  # it is remembered, and has its own rate


@pytest.mark.parametrize(("later", "taken"), [(0.0999, 0), (0.1, 1), (0.2, 2), (99.0, 5)])
def test_a_bucket_fills_at_its_rate_and_no_further_than_its_size(later: float, taken: int) -> None:
    now = [1000.0]
    rates = RateLimiter(10, 5, clock=lambda: now[0])
    for _ in range(5):
        rates.take("a")
    with pytest.raises(TooManyRequests):
        rates.take("a")
    now[0] += later
    for _ in range(taken):
        rates.take("a")
    with pytest.raises(TooManyRequests):
        rates.take("a")


def test_callers_that_ask_no_more_are_forgotten() -> None:
    now = [0.0]
    rates = RateLimiter(10, 5, clock=lambda: now[0])
    for number in range(20_000):
        now[0] += 1
        rates.take(str(number))
    assert rates.buckets <= 10_001
