"""ASGI middleware for every request: request id, Host check, body limit and security headers."""

from __future__ import annotations

import re
from collections.abc import Callable
from secrets import token_hex

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kairos.api.errors import refusal
from kairos.api.settings import ServiceSettings, is_loopback
from kairos.errors import KairosError, Misdirected, Refused, TooLarge
from kairos.logger import Logger, with_fields

log = Logger("kairos.api")

# A caller's own request id is used if it is safe in a header, a log line and the database.
_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
# Health checks, which may come with any Host header; their responses contain no data.
ANY_HOST = frozenset({"/healthz", "/readyz"})
# Headers that decide what a request may do or read. Of two, a proxy might use another one than the service.
_ONCE = ("Host", "Authorization", "Last-Event-ID")
# A scope extension: a function that returns whether the client is still sending its request.
SENDS_MORE = "kairos.sends_more"

CONTENT_SECURITY = (
    "default-src 'self'; script-src 'self'{scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
ON_EVERYTHING = {
    "Content-Security-Policy": CONTENT_SECURITY.format(scripts=""),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class RequestLimits:
    """Give each request an id, refuse other hosts and too large bodies, and add the security headers."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request_id = _request_id(headers.get("x-request-id"))
        scope["state"] = {**scope.get("state", {}), "request_id": request_id}
        reply = ResponseSender(scope, send, request_id)
        try:
            _check_single(headers)
            self._check_host(scope, headers)
            self._check_length(headers)
        except KairosError as error:
            await refusal(request_id, error)(scope, receive, reply)
            return
        with with_fields(request_id=request_id):
            await self._serve(scope, LimitedBody(receive, self._settings.body_limit), reply)

    async def _serve(self, scope: Scope, receive: Receive, reply: ResponseSender) -> None:
        method = scope["method"]
        if method == "HEAD":
            scope = {**scope, "method": "GET"}  # a copy: the server needs the original method
        try:
            await self._app(scope, receive, reply)
        except ClientDisconnect:
            return
        except Exception as error:
            if scope["state"].get("is_logged") or reply.is_over:
                return  # the response was sent and the error logged, or the client wanted only the headers
            log.error(
                "a response failed",
                method=method,
                path=scope["path"],
                started=reply.started,
                exc_info=error,
            )
            raise  # the server cuts the connection: a partial response must not look complete

    def _check_host(self, scope: Scope, headers: Headers) -> None:
        host = _hostname(headers.get("host", ""))
        allowed = self._settings.allowed_hosts
        if path_within(scope) in ANY_HOST or host in allowed:
            return
        if is_loopback(host) and (not allowed or self._settings.is_loopback):
            return
        if allowed or self._settings.open:
            raise Misdirected(
                f"The Host header is {host[:100] or 'empty'}, which is not a name of this service: "
                "use an allowed name, or add this one to KAIROS_ALLOWED_HOSTS."
            )

    def _check_length(self, headers: Headers) -> None:
        if declared_length(headers) > self._settings.body_limit:
            raise too_large(self._settings.body_limit)


class LimitedBody:
    """Receive a body and raise when it exceeds the limit, or at once when it is declared to."""

    def __init__(self, receive: Receive, limit: int, declared: int = 0) -> None:
        self._receive = receive
        self._limit = limit
        self._declared = declared
        self._seen = 0

    async def __call__(self) -> Message:
        if self._declared > self._limit:
            raise too_large(self._limit)
        message = await self._receive()
        if message["type"] == "http.request":
            self._seen += len(message.get("body", b""))
            if self._seen > self._limit:
                raise too_large(self._limit)
        return message


class ResponseSender:
    """Send a response with the headers that every response has; a response to HEAD without its body."""

    def __init__(self, scope: Scope, send: Send, request_id: str) -> None:
        self.request_id = request_id
        self.started = False
        self.is_over = False
        self._send = send
        self._is_api = path_within(scope).startswith("/api")
        self._sends_more: Callable[[], bool] | None = scope.get("extensions", {}).get(SENDS_MORE)
        self._head = scope["method"] == "HEAD"

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(raw=message.setdefault("headers", []))
            headers["X-Request-Id"] = self.request_id
            for name, value in ON_EVERYTHING.items():
                headers.setdefault(name, value)
            if self._is_api:
                headers.setdefault("Cache-Control", "no-store")
            if self._sends_more is not None and self._sends_more():
                headers["Connection"] = "close"  # the rest of the request is not read
        elif self._head and message["type"] == "http.response.body":
            if self.is_over:
                raise ClientDisconnect  # a stream would go on for ever
            self.is_over = True
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)


def declared_length(headers: Headers) -> int:
    """Return the Content-Length, 0 if there is none."""
    length = headers.get("content-length", "0")
    return int(length) if length.isdigit() else 0


def too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body is larger than the limit of {limit} bytes: send it in portions.")


def _check_single(headers: Headers) -> None:
    for name in _ONCE:
        if len(headers.getlist(name)) > 1:
            raise Refused(f"The request has more than one {name} header: send one.")


def _request_id(given: str | None) -> str:
    return given if given is not None and _REQUEST_ID.fullmatch(given) else f"req_{token_hex(12)}"


def _hostname(host: str) -> str:
    """Return the name in a Host header, without the port."""
    name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    return name.strip("[]").rstrip(".").lower()


def path_within(scope: Scope) -> str:
    """Return the path without the prefix that the service is mounted at."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))
