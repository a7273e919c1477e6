"""The numbers that Prometheus collects."""

from __future__ import annotations

from fastapi import APIRouter, Request
from prometheus_client import CollectorRegistry, generate_latest
from starlette.responses import Response

from kairos.api.exposition import Exposition
from kairos.api.snapshots import Snapshots

router = APIRouter(tags=["meta"])

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_WINDOW = 3600


@router.get("/metrics", response_class=Response)
async def read_metrics(request: Request) -> Response:
    """Jobs, times, workers and alarms from the database, requests from this process, as Prometheus reads them."""
    stats = await (await request.app.part(Snapshots)).look(_WINDOW)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Exposition(stats))
    body = generate_latest(registry) + generate_latest(request.app.meters.registry)
    return Response(body, media_type=_TEXT, headers={"Cache-Control": "no-store"})
