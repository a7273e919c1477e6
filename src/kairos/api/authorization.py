"""ASGI middleware of one route: authenticate, check scope and rate limit, validate the body, write the audit row."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi.routing import APIRoute
from starlette.datastructures import Headers, QueryParams
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Request

from kairos.api.anonymous_audit import AnonymousAudit
from kairos.api.audit_writer import AuditWriter
from kairos.api.authentication import Authentication, check_csrf, check_same_site, session_cookie
from kairos.api.caller import ANONYMOUS, Caller
from kairos.api.errors import HANG_UP
from kairos.api.query_names import check_query, query_names
from kairos.api.rate_limiter import RateLimiter
from kairos.api.request_body import read_body
from kairos.api.route_scopes import READ_ONLY_POSTS
from kairos.errors import Forbidden, KairosError, TooManyRequests, Unauthorized
from kairos.operations.audit import AuditedRequest, AuditedResponse
from kairos.shapes.key import Scope

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Authorization:
    """Authorize each request to one route; the route never sees a refused request."""

    def __init__(
        self,
        app: ASGIApp,
        route: APIRoute,
        needs: Scope | None,
        access: Authentication,
        rates: RateLimiter,
        audit_writer: AuditWriter,
        anonymous_audit: AnonymousAudit,
    ) -> None:
        self._app = app
        self._verb = route.operation_id or route.name
        self._only_reads = any(
            (method, route.path_format) in READ_ONLY_POSTS for method in route.methods or ()
        )
        self._template = route.path_format
        self._needs = needs
        self._query_names = query_names(route)
        self._access = access
        self._rates = rates
        self._audit_writer = audit_writer
        self._anonymous_audit = anonymous_audit

    async def __call__(self, scope: Request, receive: Receive, send: Send) -> None:
        state, headers = scope["state"], Headers(scope=scope)
        state["caller"], state["route"] = ANONYMOUS, self._template
        if scope["method"] in SAFE or self._only_reads:
            await self._app(scope, await self._admit_and_read(scope, receive, headers), send)
            return
        try:
            receive = await self._admit_and_read(scope, receive, headers)
        except (TooManyRequests, Unauthorized):
            raise  # not audited, or unknown callers could grow the log at will; the metrics count them
        except KairosError as error:
            asked = self._audited_request(scope, error.http_status, {"code": error.code})
            if self._needs is None:
                await self._anonymous_audit.refused(_client(scope), asked)
            else:
                await self._audit_writer.begin(asked)
            raise
        if self._needs is not None:
            await self._write_audit_row(scope)
            await self._run_audited(scope, receive, send)
            return
        state["write_audit_row"] = partial(self._write_audit_row, scope)
        try:
            await self._run_audited(scope, receive, send)
        finally:
            # It refers back to the scope, which would stay in memory until a garbage collection.
            del state["write_audit_row"]

    async def _admit_and_read(self, scope: Request, receive: Receive, headers: Headers) -> Receive:
        """Admit the request and read its body; return a `receive` that gives the body to the route."""
        await self._admit(scope, headers)
        if scope["method"] in SAFE:
            return receive
        return await read_body(headers, receive, self._access.settings)

    async def _admit(self, scope: Request, headers: Headers) -> None:
        """Check the caller, its scope, its rate and the query parameters, or raise."""
        unsafe = scope["method"] not in SAFE
        if self._needs is None:
            if unsafe:
                self._rates.take(_address(scope))
                check_same_site(headers, strictly=False)
            return
        caller = await self._identify(scope, headers)
        scope["state"]["caller"] = caller
        if unsafe and caller.session is not None:
            check_same_site(headers, strictly=True)
            check_csrf(headers, session_cookie(headers) or "")
        elif unsafe and caller.is_local:
            check_same_site(headers, strictly=False)
        if not caller.may(self._needs):
            raise Forbidden(f"This takes the scope {self._needs}, which the key {caller.name!r} lacks.")
        check_query(QueryParams(scope.get("query_string", b"")), self._query_names)

    async def _identify(self, scope: Request, headers: Headers) -> Caller:
        """Return the caller. A lookup in the database is charged to the address, and refunded if the key is valid."""
        charged = ""

        def charge(key_id: str | None) -> None:
            nonlocal charged
            wanted = _address(scope) if key_id is None else f"id:{key_id}"
            self._rates.take(wanted)
            charged = wanted

        try:
            caller = await self._access.identify(headers, charge)
        except Unauthorized:
            if not charged:
                charge(None)
            raise
        if charged:
            self._rates.give_back(charged)
        self._rates.take(caller.actor)
        return caller

    async def _write_audit_row(self, scope: Request) -> None:
        """Write the audit row of a change that is about to run; a sign-in calls it once its caller is known."""
        scope["state"]["audit_row"] = await self._audit_writer.begin(self._audited_request(scope))

    async def _run_audited(self, scope: Request, receive: Receive, send: Send) -> None:
        """Run the route, and write its status to the audit row before the response is sent."""
        has_ended = False

        async def send_after_audit(message: Message) -> None:
            nonlocal has_ended
            if message["type"] == "http.response.start" and not has_ended:
                has_ended = True
                await self._ended(scope, message["status"], scope["state"].get("audit"))
            await send(message)

        try:
            await self._app(scope, receive, send_after_audit)
        except Exception as error:
            if not has_ended:
                await self._ended(scope, HANG_UP if isinstance(error, ClientDisconnect) else 500)
            raise

    async def _ended(self, scope: Request, status: int, details: dict[str, Any] | None = None) -> None:
        if (row := scope["state"].get("audit_row")) is not None:
            await self._audit_writer.end(AuditedResponse(row, status, details))
        else:
            await self._anonymous_audit.refused(_client(scope), self._audited_request(scope, status, details))

    def _audited_request(
        self, scope: Request, status: int | None = None, details: Any = None
    ) -> AuditedRequest:
        caller: Caller = scope["state"]["caller"]
        parameters = scope.get("path_params", {})
        target = "/".join(str(value) for value in parameters.values()) or None
        return AuditedRequest(caller.actor, self._verb, target, scope["state"]["request_id"], status, details)


def _address(scope: Request) -> str:
    return f"address:{_client(scope)}"


def _client(scope: Request) -> str:
    client = scope.get("client")
    return client[0] if client else "unknown"
