"""Builds the service: every route in one place, each behind the same door."""

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
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from kairos.api import errors, openapi, policy
from kairos.api.access import Access
from kairos.api.admission import Admission
from kairos.api.guard import Guard
from kairos.api.ledger import Ledger
from kairos.api.meters import Meters
from kairos.api.observed import Observed
from kairos.api.rates import Rates
from kairos.api.routes import (
    alarms,
    audit,
    bulk,
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
from kairos.api.strangers import Strangers
from kairos.app import Kairos

# It would tell whole query strings, and errors with their words; `Observed` makes the span of a request.
_NOT_BY_THE_FRAMEWORK: Any = dict.fromkeys(
    ("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False
)

P = TypeVar("P", bound=AbstractAsyncContextManager[Any])

# In the order of the documentation.
ROUTERS: tuple[APIRouter, ...] = (
    bulk.router,  # before the jobs: `bulk` is no id
    jobs.router,
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
    """The routes behind the guard, which sees everything that comes in and goes out."""

    def __init__(self, kairos: Kairos, settings: ServiceSettings, pages: ui.Pages) -> None:
        super().__init__(
            title="Kairos",
            version=version("kairos-scheduler"),
            docs_url=None,
            redoc_url=None,
            openapi_url=None,
            redirect_slashes=False,
            telemetry=_NOT_BY_THE_FRAMEWORK,
        )
        self.state.kairos = kairos
        self.state.settings = settings
        self.access = Access(kairos, settings)
        self.rates = Rates(settings.rate, settings.burst)
        self.ledger = Ledger(kairos)
        self.strangers = Strangers(self.ledger)
        self.stopping = asyncio.Event()  # streams end when it is set
        self._parts: dict[Any, Any] = {}
        self._opened = AsyncExitStack()
        self._opening = asyncio.Lock()
        self.meters = Meters()
        self._guard = Observed(Guard(super().__call__, settings), self.meters)
        self.router.default = pages
        errors.install(self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._guard(scope, receive, send)

    async def part(self, make: Callable[[Service], P]) -> P:
        """What `make` makes, started when it is first asked for and kept until the service closes."""
        async with self._opening:
            if make not in self._parts:
                self._parts[make] = await self._opened.enter_async_context(make(self))
        found: P = self._parts[make]
        return found

    async def close(self) -> None:
        """End the streams and whatever else was started on the way."""
        self.stopping.set()
        await self.strangers.flush()
        async with self._opening:
            self._parts.clear()
            await self._opened.aclose()

    def add(self, router: APIRouter) -> None:
        """Take over a router's routes, each behind its own admission."""
        for route in router.routes:
            if not isinstance(route, APIRoute):
                raise policy.UnlistedRoute(f"{route!r} is not a route the policy can speak of.")
            ours = copy.copy(route)  # the router is shared by every service of this process
            ours.operation_id = route.operation_id or openapi.camel_case(route.name)
            needs = policy.scope_of(route)
            ours.app = Admission(route.app, ours, needs, self.access, self.rates, self.ledger, self.strangers)
            self.router.routes.append(ours)

    def methods(self, scope: Scope) -> list[str]:
        """Every method that some route takes at the path of `scope`."""
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

    @property
    def api_routes(self) -> list[APIRoute]:
        return [route for route in self.routes if isinstance(route, APIRoute)]


def build(
    kairos: Kairos,
    settings: ServiceSettings | None = None,
    *,
    routers: Iterable[APIRouter] = ROUTERS,
    dashboard: Path = ui.EXPORT,
) -> Service:
    """The service of an app; other routers and another dashboard are for tests."""
    service = Service(kairos, settings or ServiceSettings(), ui.Pages(dashboard))
    for router in routers:
        service.add(router)
    return service
