"""Who is it? Keys, sessions, and the open door of a service that only this machine can reach."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable
from hashlib import sha256
from secrets import token_hex
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from kairos.api.caller import LOCAL, Caller, Scope
from kairos.api.settings import ServiceSettings
from kairos.app import Kairos
from kairos.errors import Forbidden, Unauthorized
from kairos.verbs.keys import Holder, any_key, holder
from kairos.verbs.sessions import csrf_token, session_holder

COOKIE = "kairos_session"
# A key that was revoked elsewhere is good here for so long at most.
REMEMBERED = 5.0
_REMEMBERED_AT_MOST = 10_000
_STILL_OPEN = 1.0
# Whoever comes through a proxy on this machine may come from anywhere.
_FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


def _free() -> None:
    """Nothing is to be paid."""


class Access:
    """Finds out who asks. What it found it remembers for a few seconds, under a hash of the secret."""

    def __init__(self, kairos: Kairos, settings: ServiceSettings) -> None:
        self.settings = settings
        self._kairos = kairos
        self._known: dict[bytes, tuple[float, Caller]] = {}
        self._has_keys = False
        self._asked_for_keys = float("-inf")
        self._local_csrf = token_hex(32)

    async def identify(self, headers: Headers, pay: Callable[[], None] = _free) -> Caller:
        """The caller, by key, by being here, or by cookie; raises `Unauthorized` for nobody.

        `pay` is called before the database is asked whose a key or a cookie is.
        """
        if (given := headers.get("authorization")) is not None:
            return await self._by_key(given, pay)
        if await self.is_open():
            if any(name in headers for name in _FORWARDED):
                raise Unauthorized("A proxy stands before this service: make a key with `kairos keys add`.")
            return LOCAL
        if (cookie := session_cookie(headers)) is not None:
            return await self._by_session(cookie, pay)
        raise Unauthorized("Nobody comes in without a key: send Authorization: Bearer kr_….")

    async def by_token(self, token: str, pay: Callable[[], None] = _free) -> Caller:
        """The holder of a key."""
        caller = self._remembered(b"key", token)
        if caller is None:
            pay()
            found = await self._kairos.run(holder(token))
            if found is None:
                raise Unauthorized("The key is unknown, expired or revoked: ask for a new one.")
            caller = _caller(found)
            self._remember(b"key", token, caller, found)
        return caller

    async def _by_session(self, cookie: str, pay: Callable[[], None]) -> Caller:
        """The holder of the key that a browser signed in with."""
        caller = self._remembered(b"session", cookie)
        if caller is None:
            pay()
            found = await self._kairos.run(session_holder(cookie))
            if found is None:
                raise Unauthorized("The session is over: sign in again.")
            caller = _caller(found[1], found[0])
            self._remember(b"session", cookie, caller, found[1])
        return caller

    async def is_open(self) -> bool:
        """Whether everybody may come in: it was asked for, and the database has never had a key."""
        if not self.settings.open or self._has_keys:
            return False
        if time.monotonic() - self._asked_for_keys > _STILL_OPEN:
            self._has_keys = await self._kairos.run(any_key())
            self._asked_for_keys = time.monotonic()
        return not self._has_keys

    def forget(self) -> None:
        """Believe nothing from before: a key was made or revoked, or somebody signed out, right here."""
        self._known.clear()
        self._asked_for_keys = float("-inf")

    def csrf(self, headers: Headers) -> str:
        """The token that this caller's pages send along with a change."""
        cookie = session_cookie(headers)
        return self._local_csrf if cookie is None else csrf_token(cookie)

    async def _by_key(self, authorization: str, pay: Callable[[], None]) -> Caller:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthorized("Authorization takes a key: Bearer kr_….")
        return await self.by_token(token.strip(), pay)

    def _remembered(self, kind: bytes, token: str) -> Caller | None:
        until, caller = self._known.get(_fingerprint(kind, token), (0.0, None))
        return caller if time.monotonic() < until else None

    def _remember(self, kind: bytes, token: str, caller: Caller, found: Holder) -> None:
        if len(self._known) >= _REMEMBERED_AT_MOST:
            self._known.clear()
        seconds = REMEMBERED if found.seconds_left is None else min(REMEMBERED, found.seconds_left)
        self._known[_fingerprint(kind, token)] = (time.monotonic() + seconds, caller)


def check_same_site(headers: Headers, *, strictly: bool) -> None:
    """Refuse a change that another site's page asks for; `strictly` also one that does not say where it is from.

    Browsers tell by `Sec-Fetch-Site` and `Origin`, neither of which a page can forge.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None and site.lower() not in ("same-origin", "none"):
        raise Forbidden("The request came from another site.")
    if origin is not None:
        try:
            place = urlsplit(origin).netloc.lower()
        except ValueError as error:
            raise Forbidden("The Origin header is no origin.") from error
        if place != headers.get("host", "").lower():
            raise Forbidden("The request came from a page of another origin.")
    elif site is None and strictly:
        raise Forbidden("A session's change needs an Origin or Sec-Fetch-Site header, as browsers send them.")


def check_csrf(headers: Headers, cookie: str) -> None:
    """Refuse a change that a session's own page did not ask for."""
    given = headers.get("x-csrf-token", "")
    if not hmac.compare_digest(given.encode(), csrf_token(cookie).encode()):
        raise Forbidden("X-CSRF-Token is missing or wrong: GET /api/session tells it.")


def session_cookie(headers: Headers) -> str | None:
    """The session's cookie. Others may come before it that no standard allows: they hide nothing."""
    return cookie_parser(headers.get("cookie", "")).get(COOKIE) or None


def _caller(found: Holder, session: str | None = None) -> Caller:
    return Caller(found.id, found.name, frozenset(map(Scope, found.scopes)), session)


def _fingerprint(kind: bytes, token: str) -> bytes:
    return sha256(kind + token.encode("utf-8", "surrogatepass")).digest()
