"""The guard: what holds for every request and every answer, before and after any route. Pure ASGI."""

from __future__ import annotations

import re
from secrets import token_hex

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kairos.api.errors import refusal
from kairos.api.settings import ServiceSettings, is_loopback
from kairos.errors import KairosError, Misdirected, TooLarge

log = structlog.get_logger("kairos.api")

# A caller's own id is taken over if it can do no harm in a header, a log line or a database.
_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
# Whoever probes from outside does not know our names; these tell nothing.
_ANY_HOST = frozenset({"/healthz", "/readyz"})

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


class Guard:
    """Gives each request an id, refuses what was meant for another host, counts bodies, adds the headers."""

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
        reply = Reply(scope, send, request_id)
        try:
            self._check_host(scope, headers)
            self._check_length(headers)
        except KairosError as error:
            await refusal(request_id, error)(scope, receive, reply)
            return
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            await self._serve(scope, Counted(receive, self._settings.body_limit), reply)

    async def _serve(self, scope: Scope, receive: Receive, reply: Reply) -> None:
        method = scope["method"]
        if method == "HEAD":
            scope = {**scope, "method": "GET"}  # not in place: the server must know what was asked
        try:
            await self._app(scope, receive, reply)
        except ClientDisconnect:
            return
        except Exception as error:
            if scope["state"].get("is_told") or reply.is_over:
                return  # it was answered and logged, or the client asked for no more than the headers
            log.error(
                "an answer broke off",
                method=method,
                path=scope["path"],
                started=reply.started,
                exc_info=error,
            )
            raise  # the connection is cut: half an answer must not look whole

    def _check_host(self, scope: Scope, headers: Headers) -> None:
        host = _hostname(headers.get("host", ""))
        allowed = self._settings.allowed_hosts
        if path_within(scope) in _ANY_HOST or host in allowed:
            return
        if is_loopback(host) and (not allowed or self._settings.is_loopback):
            return
        if allowed or self._settings.open:
            raise Misdirected(
                f"This service is not {host[:100] or 'a host without a name'}: "
                "use one of its own names, or add that one to KAIROS_ALLOWED_HOSTS."
            )

    def _check_length(self, headers: Headers) -> None:
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._settings.body_limit:
            raise too_large(self._settings.body_limit)


class Counted:
    """Receives a body and counts what really comes, whatever its headers promised."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._limit = limit
        self._seen = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._seen += len(message.get("body", b""))
            if self._seen > self._limit:
                raise too_large(self._limit)
        return message


class Reply:
    """Sends an answer with the headers that every answer has; one to HEAD without its body."""

    def __init__(self, scope: Scope, send: Send, request_id: str) -> None:
        self.request_id = request_id
        self.started = False
        self.is_over = False
        self._send = send
        self._is_api = path_within(scope).startswith("/api")
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
        elif self._head and message["type"] == "http.response.body":
            if self.is_over:
                raise ClientDisconnect  # a stream would go on for ever
            self.is_over = True
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)


def too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body is larger than the limit of {limit} bytes: send it in portions.")


def _request_id(given: str | None) -> str:
    return given if given is not None and _REQUEST_ID.fullmatch(given) else f"req_{token_hex(12)}"


def _hostname(host: str) -> str:
    """The name in a Host header, without the port."""
    name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    return name.strip("[]").rstrip(".").lower()


def path_within(scope: Scope) -> str:
    """The path as the service knows it, wherever it is mounted."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))
