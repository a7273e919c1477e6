"""The route of the Prometheus metrics."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from starlette.responses import Response

from kairos.api.prometheus import DatabaseMetrics
from kairos.api.stats_cache import MetricsCache
from kairos.errors import DatabaseUnavailable
from kairos.logger import Logger

log = Logger("kairos.api")

router = APIRouter(tags=["meta"])

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_WINDOW = 3600
# Seconds; a scrape is mostly given up after ten.
_TIMEOUT = 5.0


@router.get("/metrics", response_class=Response)
async def read_metrics(request: Request) -> Response:
    """Return the Prometheus metrics: jobs, times, workers and alarms from the database, requests of this process.

    While the database is unavailable, only those of this process are present, and `kairos_database_up` is 0.
    """
    registry = CollectorRegistry(auto_describe=False)
    up = Gauge("kairos_database_up", "Whether the database answered this time.", registry=registry)
    try:
        async with asyncio.timeout(_TIMEOUT):
            stats = await (await request.app.component(MetricsCache)).read(_WINDOW)
    except (DatabaseUnavailable, TimeoutError) as error:
        log.warning("the metrics of the database could not be read", error=str(error))
        up.set(0)
    else:
        up.set(1)
        registry.register(DatabaseMetrics(stats))
    body = generate_latest(registry) + generate_latest(request.app.request_metrics.registry)
    return Response(body, media_type=_TEXT, headers={"Cache-Control": "no-store"})
