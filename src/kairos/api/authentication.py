"""Identify the caller of a request: by API key, by session cookie, or as local where access is open."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable
from hashlib import sha256
from secrets import token_hex
from typing import TypeAlias
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from kairos.api.caller import LOCAL, Caller
from kairos.api.settings import ServiceSettings
from kairos.app import Kairos
from kairos.errors import Forbidden, TooManyRequests, Unauthorized
from kairos.operations.keys import PREFIX, KeyInUse, any_key, key_of, keys, split
from kairos.operations.sessions import csrf_token, key_of_session
from kairos.shapes.key import Scope

COOKIE = "kairos_session"
# Seconds that an identified caller is cached: a key that another process revoked still works here for that long.
REMEMBERED = 5.0
# A key that was valid within these seconds is looked up again without charging the rate limit of its address.
_PROVEN_FOR = 3600.0
_REMEMBERED_AT_MOST = 10_000
_ISSUED = 1000  # how many ids of the newest keys are cached
# Seconds that open access is cached: callers without a key are served for that long after another process made one.
_STILL_OPEN = 1.0
# Headers that proxies add: a request with one of them may come from another machine.
_FORWARDED = frozenset(
    {
        "cf-connecting-ip",
        "fastly-client-ip",
        "forwarded",
        "true-client-ip",
        "via",
        "x-client-ip",
        "x-cluster-client-ip",
        "x-envoy-external-address",
        "x-original-forwarded-for",
        "x-original-host",
        "x-original-url",
        "x-real-ip",
        "x-rewrite-url",
    }
)
_FORWARDED_PREFIX = "x-forwarded"


# Charges the rate limit of a key by its id, or of the client's address for None; raises `TooManyRequests`.
Charge: TypeAlias = Callable[[str | None], None]


def _charge_nothing(_: str | None) -> None:
    """Charge nothing."""


class Authentication:
    """Identify callers, and cache each for a few seconds under a hash of its secret."""

    def __init__(self, kairos: Kairos, settings: ServiceSettings) -> None:
        self.settings = settings
        self._kairos = kairos
        self._known: dict[bytes, tuple[float, Caller]] = {}
        self._proven: dict[bytes, float] = {}
        self._issued: frozenset[str] = frozenset()
        self._issued_at = float("-inf")
        self._has_keys = False
        self._asked_for_keys = float("-inf")
        self._local_csrf = token_hex(32)

    async def identify(self, headers: Headers, charge: Charge = _charge_nothing) -> Caller:
        """Return the caller by key, as local where access is open, or by cookie; else raise `Unauthorized`.

        `charge` is called before a key or a cookie is looked up in the database.
        """
        if (given := headers.get("authorization")) is not None:
            return await self._by_key(given, charge)
        if await self.is_open():
            if any(name in _FORWARDED or name.startswith(_FORWARDED_PREFIX) for name in headers):
                raise Unauthorized("Requests through a proxy need a key: make one with `kairos keys add`.")
            return LOCAL
        if (cookie := session_cookie(headers)) is not None:
            return await self._by_session(cookie, charge)
        raise Unauthorized("The request has no key: send Authorization: Bearer kr_….")

    async def by_token(self, token: str, charge: Charge = _charge_nothing) -> Caller:
        """Return the caller who holds a key."""
        caller = self._remembered(b"key", token)
        if caller is None:
            if not self._is_proven(b"key", token):
                await self._charge_lookup(token, charge)
            found = await self._kairos.run(key_of(token))
            if found is None:
                self._forget_proof(b"key", token)
                raise Unauthorized("The key is unknown, expired or revoked: ask for a new one.")
            caller = _caller(found)
            self._remember(b"key", token, caller, found)
        return caller

    async def _by_session(self, cookie: str, charge: Charge) -> Caller:
        """Return the caller whose key a browser signed in with."""
        caller = self._remembered(b"session", cookie)
        if caller is None:
            if not self._is_proven(b"session", cookie):
                charge(None)
            found = await self._kairos.run(key_of_session(cookie))
            if found is None:
                self._forget_proof(b"session", cookie)
                raise Unauthorized("The session is over: sign in again.")
            caller = _caller(found[1], found[0])
            self._remember(b"session", cookie, caller, found[1])
        return caller

    async def is_open(self) -> bool:
        """Whether access is open: the settings ask for it, and the database has never had a key."""
        if not self.settings.open or self._has_keys:
            return False
        if time.monotonic() - self._asked_for_keys > _STILL_OPEN:
            self._has_keys = await self._kairos.run(any_key())
            self._asked_for_keys = time.monotonic()
        return not self._has_keys

    def clear_cache(self) -> None:
        """Clear the cache, after a key was made or revoked or a caller signed out in this process."""
        self._known.clear()
        self._asked_for_keys = float("-inf")

    def csrf(self, headers: Headers) -> str:
        """Return the CSRF token that this caller's pages send with each change."""
        cookie = session_cookie(headers)
        return self._local_csrf if cookie is None else csrf_token(cookie)

    async def _by_key(self, authorization: str, charge: Charge) -> Caller:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthorized("The Authorization header is not an API key: send Bearer kr_….")
        return await self.by_token(token.strip(), charge)

    def _remembered(self, kind: bytes, token: str) -> Caller | None:
        until, caller = self._known.get(_fingerprint(kind, token), (0.0, None))
        return caller if time.monotonic() < until else None

    async def _charge_lookup(self, token: str, charge: Charge) -> None:
        """Charge the lookup of a key to its address; if that limit is used up, to the key, if its id was issued.

        A flood of invented keys from one address thus does not lock out valid keys behind the same address.
        """
        try:
            charge(None)
        except TooManyRequests:
            key_id, _ = split(token, PREFIX)
            if key_id not in await self._issued_ids():
                raise
            charge(key_id)

    async def _issued_ids(self) -> frozenset[str]:
        if time.monotonic() - self._issued_at > REMEMBERED:
            self._issued_at = time.monotonic()
            self._issued = frozenset(key.id for key in await self._kairos.run(keys(limit=_ISSUED)))
        return self._issued

    def _is_proven(self, kind: bytes, token: str) -> bool:
        """Whether the secret was valid within the last hour: its lookup is then not charged to its address."""
        return time.monotonic() < self._proven.get(_fingerprint(kind, token), 0.0)

    def _forget_proof(self, kind: bytes, token: str) -> None:
        self._proven.pop(_fingerprint(kind, token), None)

    def _remember(self, kind: bytes, token: str, caller: Caller, found: KeyInUse) -> None:
        if len(self._known) >= _REMEMBERED_AT_MOST:
            self._known.clear()
        if len(self._proven) >= _REMEMBERED_AT_MOST:
            self._proven.clear()
        self._proven[_fingerprint(kind, token)] = time.monotonic() + _PROVEN_FOR
        seconds = REMEMBERED if found.seconds_left is None else min(REMEMBERED, found.seconds_left)
        self._known[_fingerprint(kind, token)] = (time.monotonic() + seconds, caller)


def check_same_site(headers: Headers, *, strictly: bool) -> None:
    """Refuse a change sent by a page of another site; `strictly` also one without an origin.

    Browsers set `Sec-Fetch-Site` and `Origin`, and a page can forge neither.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None and site.lower() not in ("same-origin", "none"):
        raise Forbidden("The request came from another site.")
    if origin is not None:
        try:
            host = urlsplit(origin).netloc.lower()
        except ValueError as error:
            raise Forbidden("The Origin header is not a valid origin.") from error
        if host != headers.get("host", "").lower():
            raise Forbidden("The request came from a page of another origin.")
    elif site is None and strictly:
        raise Forbidden("A session's change needs an Origin or Sec-Fetch-Site header, as browsers send them.")


def check_csrf(headers: Headers, cookie: str) -> None:
    """Refuse a change without the CSRF token of its session."""
    given = headers.get("x-csrf-token", "")
    if not hmac.compare_digest(given.encode(), csrf_token(cookie).encode()):
        raise Forbidden("X-CSRF-Token is missing or wrong: GET /api/session returns it.")


def session_cookie(headers: Headers) -> str | None:
    """Return the session's cookie, also behind malformed cookies of other applications on the host."""
    return cookie_parser(headers.get("cookie", "")).get(COOKIE) or None


def _caller(found: KeyInUse, session: str | None = None) -> Caller:
    return Caller(found.id, found.name, frozenset(map(Scope, found.scopes)), session)


def _fingerprint(kind: bytes, token: str) -> bytes:
    return sha256(kind + token.encode("utf-8", "surrogatepass")).digest()
