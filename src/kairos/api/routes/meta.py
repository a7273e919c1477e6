"""The routes of health checks and versions."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from kairos.api.readiness import Readiness
from kairos.api.responses import answer
from kairos.api.schemas import meta as schemas
from kairos.store.migration_files import wanted_version

router = APIRouter(tags=["meta"])

API_VERSION = 1


@router.get("/healthz", response_model=schemas.Health)
async def healthz(request: Request) -> Response:
    """Say whether the process is alive, without using the database."""
    return answer(request, {"status": "ok"})


@router.get("/readyz", response_model=schemas.Health)
async def readyz(request: Request) -> Response:
    """Say whether the service can work: the database is reachable and writable, and its schema fits."""
    await (await request.app.component(Readiness)).check()
    return answer(request, {"status": "ready"})


@router.get("/api/version", response_model=schemas.Version)
async def read_version(request: Request) -> Response:
    """Return the versions of the program, of the schema it needs, and of this API."""
    return answer(request, {"version": _versions()})


@router.get("/openapi.json", include_in_schema=False)
async def read_openapi(request: Request) -> Response:
    return Response(request.app.openapi_text(), media_type="application/json")


@cache
def _versions() -> dict[str, Any]:
    # Callers without a key may ask for them, and the metadata of a package is read from files.
    return {"kairos": version("kairos-scheduler"), "schema": wanted_version(), "api": API_VERSION}
