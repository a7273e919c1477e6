"""Build the service: every router, each route behind the same middleware and authorization."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from pydantic.alias_generators import to_camel
from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Scope, Send

from kairos import serializers
from kairos.api import errors, openapi, route_scopes
from kairos.api.anonymous_audit import AnonymousAudit
from kairos.api.audit_writer import AuditWriter
from kairos.api.authentication import Authentication
from kairos.api.authorization import Authorization
from kairos.api.instrumentation import Instrumentation
from kairos.api.metrics import Metrics
from kairos.api.rate_limiter import RateLimiter
from kairos.api.request_limits import RequestLimits
from kairos.api.routes import (
    alarms,
    audit,
    bulk,
    documentation,
    error_groups,
    events,
    intent,
    jobs,
    keys,
    lifecycle,
    logs,
    machines,
    meta,
    metrics,
    queues,
    schedules,
    sessions,
    signals,
    stats,
    ui,
    webhooks,
    workers,
)
from kairos.api.settings import ServiceSettings
from kairos.app import Kairos

# FastAPI's own telemetry records query strings and error messages; `Instrumentation` records requests instead.
_NO_FRAMEWORK_TELEMETRY: Any = dict.fromkeys(
    ("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False
)

P = TypeVar("P", bound=AbstractAsyncContextManager[Any])

# In the order of the documentation.
ROUTERS: tuple[APIRouter, ...] = (
    bulk.router,  # before the jobs: /api/jobs/bulk must not be read as an id
    jobs.router,
    error_groups.router,
    signals.router,
    logs.router,
    events.router,
    machines.router,
    lifecycle.router,
    queues.router,
    workers.router,
    schedules.router,
    intent.router,
    keys.router,
    audit.router,
    sessions.router,
    stats.router,
    alarms.router,
    webhooks.router,
    meta.router,
    metrics.router,
)


class Service(FastAPI):
    """The ASGI app: the routes inside `RequestLimits` and `Instrumentation`, and the components that routes share."""

    def __init__(self, kairos: Kairos, settings: ServiceSettings, pages: ASGIApp) -> None:
        super().__init__(
            title="Kairos",
            version=version("kairos-scheduler"),
            docs_url=None,
            redoc_url=None,
            openapi_url=None,
            redirect_slashes=False,
            telemetry=_NO_FRAMEWORK_TELEMETRY,
        )
        self.state.kairos = kairos
        self.state.settings = settings
        self.access = Authentication(kairos, settings)
        self.rates = RateLimiter(settings.rate, settings.burst)
        self.audit_writer = AuditWriter(kairos)
        self.anonymous_audit = AnonymousAudit(self.audit_writer)
        self.stopping = asyncio.Event()  # streams end when it is set
        self._components: dict[Any, Any] = {}
        self._opened = AsyncExitStack()
        self._opening = asyncio.Lock()
        self.request_metrics = Metrics()
        self._middleware = Instrumentation(RequestLimits(super().__call__, settings), self.request_metrics)
        self.router.default = pages
        self._openapi_text: bytes | None = None
        errors.install(self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._middleware(scope, receive, send)

    async def component(self, make: Callable[[Service], P]) -> P:
        """Return the shared component that `make` builds, such as `EventHub`; it starts on first use."""
        async with self._opening:
            if make not in self._components:
                self._components[make] = await self._opened.enter_async_context(make(self))
        found: P = self._components[make]
        return found

    async def close(self) -> None:
        """End the streams, write the counted refusals, and close every component that was started."""
        self.stopping.set()
        await self.anonymous_audit.flush()
        async with self._opening:
            self._components.clear()
            await self._opened.aclose()

    def add(self, router: APIRouter) -> None:
        """Add a router's routes, each behind its own `Authorization`."""
        for route in router.routes:
            if not isinstance(route, APIRoute):
                raise route_scopes.UnlistedRoute(f"{route!r} is not an API route, so it can have no scope.")
            ours = copy.copy(route)  # the router is shared by every service of this process
            ours.operation_id = route.operation_id or to_camel(route.name)
            needs = route_scopes.scope_of(route)
            ours.app = Authorization(
                route.app, ours, needs, self.access, self.rates, self.audit_writer, self.anonymous_audit
            )
            self.router.routes.append(ours)

    def methods(self, scope: Scope) -> list[str]:
        """Return the methods that the routes at the path of `scope` accept."""
        found = {
            method
            for route in self.routes
            if isinstance(route, APIRoute) and route.matches(dict(scope))[0] is not Match.NONE
            for method in route.methods or ()
        }
        return sorted(found | {"HEAD"} if "GET" in found else found)

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = openapi.describe(self, self.api_routes)
        return self.openapi_schema

    def openapi_text(self) -> bytes:
        """Return the OpenAPI document as JSON, encoded once: callers without a key may ask for it."""
        if self._openapi_text is None:
            self._openapi_text = serializers.encode(self.openapi()).encode()
        return self._openapi_text

    @property
    def api_routes(self) -> list[APIRoute]:
        return [route for route in self.routes if isinstance(route, APIRoute)]


def build(
    kairos: Kairos,
    settings: ServiceSettings | None = None,
    *,
    routers: Iterable[APIRouter] = ROUTERS,
    dashboard: Path = ui.EXPORT,
    site: Path = documentation.SITE,
) -> Service:
    """Build the service of an app; tests give other routers, another dashboard or another documentation site."""
    pages = documentation.WithDocumentation(ui.Pages(dashboard), site)
    service = Service(kairos, settings or ServiceSettings(), pages)
    for router in routers:
        service.add(router)
    return service
