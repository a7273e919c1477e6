"""The scope that each route needs. A service with a route that is not listed here refuses to be built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fastapi.routing import APIRoute

from kairos.fsm.requests import REQUESTS
from kairos.shapes.key import Scope

PUBLIC: Final = None
READ, ENQUEUE, OPERATE, ADMIN = Scope

# (method, path template) → the scope it takes; HEAD goes with GET.
ROUTE_SCOPES: Mapping[tuple[str, str], Scope | None] = {
    # meta
    ("GET", "/healthz"): PUBLIC,
    ("GET", "/readyz"): PUBLIC,
    ("GET", "/api/version"): PUBLIC,
    ("GET", "/openapi.json"): PUBLIC,
    # schedules
    ("GET", "/api/schedules"): READ,
    ("POST", "/api/schedules"): OPERATE,
    ("GET", "/api/schedules/{name}"): READ,
    ("PATCH", "/api/schedules/{name}"): OPERATE,
    ("DELETE", "/api/schedules/{name}"): OPERATE,
    ("POST", "/api/schedules/{name}/pause"): OPERATE,
    ("POST", "/api/schedules/{name}/resume"): OPERATE,
    ("POST", "/api/schedules/{name}/trigger"): OPERATE,
    ("POST", "/api/schedules/{name}/backfill"): OPERATE,
    ("GET", "/api/schedules/{name}/ticks"): READ,
    ("POST", "/api/intent"): READ,
    # sessions: signing in needs the key itself
    ("POST", "/api/session"): PUBLIC,
    ("GET", "/api/session"): READ,
    ("DELETE", "/api/session"): READ,
    # watching
    ("GET", "/api/events"): READ,
    ("GET", "/api/stats"): READ,
    ("GET", "/api/stats/series"): READ,
    ("GET", "/api/stats/outcomes"): READ,
    ("GET", "/api/errors"): READ,
    ("GET", "/metrics"): READ,
    # jobs
    ("POST", "/api/jobs"): ENQUEUE,
    ("POST", "/api/jobs/batch"): ENQUEUE,
    ("GET", "/api/jobs"): READ,
    ("GET", "/api/jobs/counts"): READ,
    ("GET", "/api/jobs/{id}"): READ,
    ("GET", "/api/jobs/{id}/wait"): READ,
    ("GET", "/api/jobs/{id}/history"): READ,
    ("GET", "/api/jobs/{id}/signals"): READ,
    ("GET", "/api/jobs/{id}/logs"): READ,
    ("GET", "/api/jobs/{id}/events"): READ,
    **{(asked.method, asked.path): Scope(asked.scope) for asked in REQUESTS.values()},
    ("POST", "/api/jobs/bulk/{verb}"): OPERATE,
    # machines, lifecycle
    ("GET", "/api/machines"): READ,
    ("GET", "/api/machines/{name}"): READ,
    ("GET", "/api/machines/{name}/diagram"): READ,
    ("GET", "/api/machines/{name}/schema"): READ,
    ("GET", "/api/lifecycle"): READ,
    # queues, workers
    ("GET", "/api/queues"): READ,
    ("GET", "/api/queues/{name}"): READ,
    ("PATCH", "/api/queues/{name}"): OPERATE,
    ("POST", "/api/queues/{name}/pause"): OPERATE,
    ("POST", "/api/queues/{name}/resume"): OPERATE,
    ("GET", "/api/workers"): READ,
    ("GET", "/api/workers/{id}"): READ,
    ("POST", "/api/workers/{id}/drain"): OPERATE,
    ("GET", "/api/alarms"): READ,
    ("POST", "/api/alarms/{id}/acknowledge"): OPERATE,
    # admin
    ("GET", "/api/webhooks"): ADMIN,
    ("POST", "/api/webhooks"): ADMIN,
    ("PATCH", "/api/webhooks/{id}"): ADMIN,
    ("DELETE", "/api/webhooks/{id}"): ADMIN,
    ("POST", "/api/webhooks/{id}/test"): ADMIN,
    ("GET", "/api/keys"): ADMIN,
    ("POST", "/api/keys"): ADMIN,
    ("DELETE", "/api/keys/{id}"): ADMIN,
    ("GET", "/api/audit"): ADMIN,
}

# POST routes that only read: they change nothing, and write no audit row.
READ_ONLY_POSTS = frozenset({("POST", "/api/intent")})


class UnlistedRoute(Exception):
    """A route has no row in this table."""


def scope_of(route: APIRoute) -> Scope | None:
    """Return the scope of a route, which must have exactly one method; None if the route is public."""
    (method,) = route.methods or {"?"}
    try:
        return ROUTE_SCOPES[method, route.path_format]
    except KeyError:
        raise UnlistedRoute(f"{method} {route.path_format} has no row in ROUTE_SCOPES.") from None
