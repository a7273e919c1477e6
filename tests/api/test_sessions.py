"""Signing in with a browser: a cookie that pages cannot read, and changes that no other site can ask for."""

from __future__ import annotations

from datetime import timedelta
from http.cookies import SimpleCookie
from typing import Any

import httpx2
import psycopg
import pytest
from tests.api.service_process import Served

from kairos import Kairos
from kairos.operations import keys as verbs
from kairos.operations import sessions
from kairos.testing import Clock

WANTED = {"json": {"name": "x", "scopes": ["read"]}}


@pytest.fixture
async def token(app: Kairos) -> str:
    return str((await app.run(verbs.add_key("Ada", ["admin"])))[1])


@pytest.fixture
async def browser(served: Served, token: str) -> Browser:
    return await Browser.sign_in(served, token)


class Browser:
    """A page of the dashboard: it has the cookie, knows the token, and says where it is from."""

    def __init__(self, served: Served, csrf: str) -> None:
        self.http = served.http
        self.url = served.url
        self.csrf = csrf

    @classmethod
    async def sign_in(cls, served: Served, token: str) -> Browser:
        answer = await served.http.post(
            "/api/session",
            json={"key": token},
            headers={"Origin": served.url, "Sec-Fetch-Site": "same-origin"},
        )
        assert answer.status_code == 201, answer.text
        return cls(served, answer.json()["session"]["csrf"])

    async def change(self, method: str = "POST", path: str = "/api/keys", **headers: Any) -> httpx2.Response:
        """A change as the dashboard asks for it; `headers` replace its own, None leaves one out."""
        own = {"Origin": self.url, "Sec-Fetch-Site": "same-origin", "X-CSRF-Token": self.csrf}
        changed = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {name: value for name, value in {**own, **changed}.items() if value is not None}
        return await self.http.request(method, path, headers=sent, **(WANTED if method == "POST" else {}))


async def test_signing_in_gives_a_cookie_that_pages_cannot_read_and_the_token_for_changes(
    served: Served, token: str, database: str
) -> None:
    answer = await served.http.post("/api/session", json={"key": token})
    cookie = SimpleCookie(answer.headers["Set-Cookie"])["kairos_session"]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "strict", "/")
    assert not cookie["secure"]  # over http
    assert int(cookie["max-age"]) == 7 * 24 * 3600
    session = answer.json()["session"]
    assert (session["name"], session["scopes"]) == ("Ada", ["admin"])
    assert (await served.http.get("/api/session")).json()["session"] == session
    assert token not in answer.text + answer.headers["Set-Cookie"]
    with psycopg.connect(database) as connection:
        kept = str(connection.execute("select * from kairos.sessions").fetchall())
    assert cookie.value.split("_", 2)[2] not in kept and session["csrf"] not in kept


@pytest.mark.parametrize("trusted", [("127.0.0.1",), ()], ids=["trusted", "a stranger"])
async def test_over_https_the_cookie_is_for_https_alone_if_a_trusted_proxy_says_so(
    serve: Any, token: str, trusted: tuple[str, ...]
) -> None:
    async with serve(trusted_proxies=trusted) as served:
        answer = await served.http.post(
            "/api/session", json={"key": token}, headers={"X-Forwarded-Proto": "https"}
        )
        cookie = SimpleCookie(answer.headers["Set-Cookie"])["kairos_session"]
        assert bool(cookie["secure"]) == bool(trusted)


async def test_without_a_session_there_is_none(served: Served, token: str) -> None:
    assert (await served.http.get("/api/session")).status_code == 401
    served.http.cookies.set("kairos_session", "ks_0000_nonsense")
    assert (await served.http.get("/api/session")).status_code == 401
    answer = await served.http.post("/api/session", json={"key": token[:-1]})
    assert (answer.status_code, "Set-Cookie" in answer.headers) == (401, False)


async def test_a_page_of_the_dashboard_can_make_changes(browser: Browser) -> None:
    assert (await browser.change()).status_code == 201
    assert (await browser.change(Origin=None)).status_code == 201
    assert (await browser.change(Sec_Fetch_Site=None)).status_code == 201


@pytest.mark.parametrize(
    "headers",
    [
        {"X_CSRF_Token": None},
        {"X_CSRF_Token": ""},
        {"X_CSRF_Token": "0" * 64},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Origin": None, "Sec_Fetch_Site": None},
    ],
    ids=lambda headers: ", ".join(f"{name}={value}" for name, value in headers.items()),
)
@pytest.mark.parametrize(("method", "path"), [("POST", "/api/keys"), ("DELETE", "/api/keys/0000")])
async def test_a_change_that_its_own_page_did_not_ask_for_is_refused(
    browser: Browser, headers: dict[str, Any], method: str, path: str
) -> None:
    answer = await browser.change(method, path, **headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN")


async def test_a_change_hidden_behind_a_safe_method_is_none(browser: Browser) -> None:
    before = len((await browser.http.get("/api/keys")).json()["keys"])
    for method in ("GET", "HEAD", "OPTIONS"):
        await browser.http.request(method, "/api/keys", headers={"X-HTTP-Method-Override": "POST"}, **WANTED)
    assert len((await browser.http.get("/api/keys")).json()["keys"]) == before


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}],
    ids=str,
)
async def test_another_site_cannot_sign_a_browser_in(
    served: Served, token: str, headers: dict[str, str]
) -> None:
    answer = await served.http.post("/api/session", json={"key": token}, headers=headers)
    assert (answer.status_code, "Set-Cookie" in answer.headers) == (403, False)


async def test_a_session_is_over_when_one_signs_out(browser: Browser) -> None:
    cookie = browser.http.cookies["kairos_session"]
    assert (await browser.change("DELETE", "/api/session")).status_code == 200
    assert "kairos_session" not in browser.http.cookies
    browser.http.cookies.set("kairos_session", cookie)
    assert (await browser.http.get("/api/session")).status_code == 401


async def test_a_session_is_over_when_its_key_is_revoked(browser: Browser, app: Kairos, token: str) -> None:
    key = token.split("_")[1]
    assert (await browser.change("DELETE", f"/api/keys/{key}")).status_code == 200
    assert (await browser.http.get("/api/session")).status_code == 401


async def test_a_session_is_over_after_half_a_day_without_a_request_and_after_a_week_in_any_case(
    browser: Browser, served: Served, app: Kairos
) -> None:
    clock = await Clock(app).install()

    async def status(moment: Any) -> int:
        await clock.freeze(moment)
        served.service.access.clear_cache()
        return (await browser.http.get("/api/session")).status_code

    [(start, end)] = await _rows(app, "select seen_at, expires_at from kairos.sessions")
    tick, half_a_day = timedelta(microseconds=1), timedelta(hours=12)
    assert await status(start + half_a_day - tick) == 200  # and is seen, so that it may go on
    seen = start + half_a_day - tick
    assert await status(seen + half_a_day) == 401
    assert await status(seen + half_a_day - tick) == 200
    await _rows(app, "update kairos.sessions set seen_at = $1 returning id", end - timedelta(minutes=2))
    assert await status(end - tick) == 200
    assert await status(end) == 401


async def test_sessions_that_are_over_are_swept_out_by_the_next_sign_in(
    browser: Browser, served: Served, app: Kairos, token: str
) -> None:
    await _rows(app, "update kairos.sessions set expires_at = kairos.now() returning id")
    await Browser.sign_in(served, token)
    assert len(await _rows(app, "select id from kairos.sessions")) == 1


async def test_a_key_that_is_sent_along_goes_before_the_cookie(
    browser: Browser, served: Served, app: Kairos
) -> None:
    _, reader = await app.run(verbs.add_key("reader", ["read"]))
    answer = await browser.http.get("/api/session", headers={"Authorization": f"Bearer {reader}"})
    assert answer.json()["session"]["name"] == "reader"


async def _rows(app: Kairos, sql: str, *params: Any) -> list[Any]:
    async with app.store.connection() as connection:
        return list(await connection.fetch(sql, *params))


async def test_a_cookie_of_somebody_else_that_no_standard_allows_hides_nothing(
    served: Served, browser: Browser
) -> None:
    mine = served.http.cookies["kairos_session"]
    async with httpx2.AsyncClient(base_url=served.url) as bare:
        for other in ('prefs={"a": [1, 2]}', "x[y]=1", "=", "a,b=c d"):
            headers = {"Cookie": f"{other}; kairos_session={mine}"}
            assert (await bare.get("/api/session", headers=headers)).status_code == 200, other


async def test_a_key_keeps_only_so_many_sessions_and_loses_the_one_unused_for_longest(
    served: Served, app: Kairos, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MOST_OF_ONE_KEY", 3)
    _, other = await app.run(verbs.add_key("other", ["read"]))
    await Browser.sign_in(served, other)
    for _ in range(3):
        await Browser.sign_in(served, token)
    unused = (
        await _rows(
            app, "update kairos.sessions set seen_at = seen_at - interval '1 minute' "
            "where id = (select max(s.id) from kairos.sessions s join kairos.keys k on k.id = s.key_id "
            "where k.name = 'Ada') returning id",
        )
    )[0]["id"]  # fmt: skip
    await Browser.sign_in(served, token)
    left = await _rows(
        app, "select s.id, k.name from kairos.sessions s join kairos.keys k on k.id = s.key_id order by name"
    )
    assert [each["name"] for each in left] == ["Ada", "Ada", "Ada", "other"]
    assert unused not in {each["id"] for each in left}
