"""The door of one route: who asks, whether they may, how often, and a body that can be trusted to be JSON."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Request

from kairos.api.access import Access, check_csrf, check_same_site, session_cookie
from kairos.api.body import read_body
from kairos.api.caller import ANONYMOUS, Caller, Scope
from kairos.api.ledger import Ledger
from kairos.api.policy import QUESTIONS
from kairos.api.rates import Rates
from kairos.api.strangers import Strangers
from kairos.errors import Forbidden, KairosError, TooManyRequests, Unauthorized
from kairos.verbs.audit import Asked, Ended

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Admission:
    """Stands before one route, as plain ASGI: whatever it refuses, the route never sees."""

    def __init__(
        self,
        app: ASGIApp,
        route: APIRoute,
        needs: Scope | None,
        access: Access,
        rates: Rates,
        ledger: Ledger,
        strangers: Strangers,
    ) -> None:
        self._app = app
        self._verb = route.operation_id or route.name
        self._is_question = any((method, route.path_format) in QUESTIONS for method in route.methods or ())
        self._template = route.path_format
        self._needs = needs
        self._access = access
        self._rates = rates
        self._ledger = ledger
        self._strangers = strangers

    async def __call__(self, scope: Request, receive: Receive, send: Send) -> None:
        state, headers = scope["state"], Headers(scope=scope)
        state["caller"], state["route"] = ANONYMOUS, self._template
        if scope["method"] in SAFE or self._is_question:
            await self._app(scope, await self._let_in(scope, receive, headers), send)
            return
        try:
            receive = await self._let_in(scope, receive, headers)
        except (TooManyRequests, Unauthorized):
            raise  # not put down: the log would grow as fast as anybody asks; the metrics count them
        except KairosError as error:
            asked = self._asked(scope, error.http_status, {"code": error.code})
            if self._needs is None:
                await self._strangers.refused(_client(scope), asked)
            else:
                await self._ledger.begin(asked)
            raise
        if self._needs is None:
            state["known"] = partial(self._put_down, scope)
        else:
            await self._put_down(scope)
        await self._follow(scope, receive, send)

    async def _let_in(self, scope: Request, receive: Receive, headers: Headers) -> Receive:
        """Admit the request and read its body; answers a `receive` that gives the body again."""
        await self._admit(scope, headers)
        if scope["method"] in SAFE:
            return receive
        return await read_body(headers, receive, self._access.settings)

    async def _admit(self, scope: Request, headers: Headers) -> None:
        """Let the request in as its caller, or raise."""
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

    async def _identify(self, scope: Request, headers: Headers) -> Caller:
        """Who asks. Whoever is not known yet pays by its address before the database is asked, and gets it back."""
        paid = False

        def pay() -> None:
            nonlocal paid
            self._rates.take(_address(scope))
            paid = True

        try:
            caller = await self._access.identify(headers, pay)
        except Unauthorized:
            if not paid:
                pay()
            raise
        if paid:
            self._rates.give_back(_address(scope))
        self._rates.take(caller.actor)
        return caller

    async def _put_down(self, scope: Request) -> None:
        """Write what is about to be tried. Where nobody is known yet, the route calls it once it knows who asks."""
        scope["state"]["audit_row"] = await self._ledger.begin(self._asked(scope))

    async def _follow(self, scope: Request, receive: Receive, send: Send) -> None:
        """Run the route, and put down how it ended before anybody is told."""
        told = False

        async def tell(message: Message) -> None:
            nonlocal told
            if message["type"] == "http.response.start" and not told:
                told = True
                await self._ended(scope, message["status"], scope["state"].get("audit"))
            await send(message)

        try:
            await self._app(scope, receive, tell)
        except Exception:
            if not told:
                await self._ended(scope, 500)
            raise

    async def _ended(self, scope: Request, status: int, details: dict[str, Any] | None = None) -> None:
        if (row := scope["state"].get("audit_row")) is not None:
            await self._ledger.end(Ended(row, status, details))
        else:
            await self._strangers.refused(_client(scope), self._asked(scope, status, details))

    def _asked(self, scope: Request, status: int | None = None, details: Any = None) -> Asked:
        caller: Caller = scope["state"]["caller"]
        parameters = scope.get("path_params", {})
        target = "/".join(str(value) for value in parameters.values()) or None
        return Asked(caller.actor, self._verb, target, scope["state"]["request_id"], status, details)


def _address(scope: Request) -> str:
    return f"address:{_client(scope)}"


def _client(scope: Request) -> str:
    client = scope.get("client")
    return client[0] if client else "unknown"
