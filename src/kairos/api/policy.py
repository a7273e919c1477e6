"""Who may do what: one row for each route. A route without a row refuses to be built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fastapi.routing import APIRoute

from kairos.api.caller import Scope

PUBLIC: Final = None
READ, ENQUEUE, OPERATE, ADMIN = Scope

# (method, path template) → the scope it takes; HEAD goes with GET.
POLICY: Mapping[tuple[str, str], Scope | None] = {
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
    ("GET", "/metrics"): READ,
    # jobs
    ("POST", "/api/jobs"): ENQUEUE,
    ("POST", "/api/jobs/batch"): ENQUEUE,
    ("GET", "/api/jobs"): READ,
    ("GET", "/api/jobs/{id}"): READ,
    ("PATCH", "/api/jobs/{id}"): OPERATE,
    ("DELETE", "/api/jobs/{id}"): OPERATE,
    ("POST", "/api/jobs/{id}/cancel"): OPERATE,
    ("POST", "/api/jobs/{id}/run-now"): OPERATE,
    ("POST", "/api/jobs/{id}/retry"): OPERATE,
    ("GET", "/api/jobs/{id}/wait"): READ,
    ("GET", "/api/jobs/{id}/history"): READ,
    ("GET", "/api/jobs/{id}/signals"): READ,
    ("GET", "/api/jobs/{id}/logs"): READ,
    ("GET", "/api/jobs/{id}/events"): READ,
    ("POST", "/api/jobs/{id}/signals"): ENQUEUE,
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

# Questions that need a body: they change nothing, and leave no row in the audit log.
QUESTIONS = frozenset({("POST", "/api/intent")})


class UnlistedRoute(Exception):
    """A route has no row in the policy."""


def scope_of(route: APIRoute) -> Scope | None:
    """What a route takes; it must have exactly one method, so that one row says it."""
    (method,) = route.methods or {"?"}
    try:
        return POLICY[method, route.path_format]
    except KeyError:
        raise UnlistedRoute(f"{method} {route.path_format} has no row in the policy.") from None
