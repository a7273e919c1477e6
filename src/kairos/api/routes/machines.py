"""Machines, as workers and this process registered them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import groupby
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from starlette.responses import Response

from kairos import operations, serializers
from kairos.api import cursors
from kairos.api.responses import answer, kairos_of
from kairos.api.schemas import machines as schemas
from kairos.fsm import render
from kairos.shapes.machine import MachineRow

if TYPE_CHECKING:
    from kairos.api.app import Service

router = APIRouter(tags=["machines"])


@asynccontextmanager
async def registered(service: Service) -> AsyncIterator[None]:
    """Save the machines that this process knows in the database, once."""
    await service.state.kairos.run(operations.register(service.state.kairos.registry))
    yield


@router.get("/api/machines", response_model=schemas.MachineList)
async def list_machines(
    request: Request, cursor: cursors.AfterName = None, limit: cursors.Limit = 500
) -> Response:
    """List every machine that a worker or this service has ever registered."""
    await request.app.component(registered)
    found = await kairos_of(request).run(operations.machines(after=cursor, limit=limit + 1))
    by_name = [list(versions) for _, versions in groupby(found, key=lambda row: row.name)]
    machines, more = cursors.page(by_name, limit, lambda versions: versions[0].name)
    return answer(
        request, {"machines": [serializers.registered(each) for each in machines], "nextCursor": more}
    )


@router.get("/api/machines/{name}", response_model=schemas.MachineAnswer)
async def read_machine(request: Request, name: str) -> Response:
    """Return the newest version of one machine."""
    return answer(request, {"machine": serializers.registered(await _versions(request, name))})


@router.get("/api/machines/{name}/diagram", response_model=schemas.Diagram)
async def read_diagram(request: Request, name: str) -> Response:
    """Return the diagram of a machine: its steps and the edges between them."""
    diagram = (await _versions(request, name))[-1].diagram
    return answer(request, {"diagram": diagram, "mermaid": render.mermaid(render.from_json(diagram))})


@router.get("/api/machines/{name}/schema", response_model=schemas.SchemaAnswer)
async def read_schema(request: Request, name: str) -> Response:
    """The JSON schema of a machine's input."""
    return answer(request, {"schema": (await _versions(request, name))[-1].input})


async def _versions(request: Request, name: str) -> list[MachineRow]:
    await request.app.component(registered)
    return await kairos_of(request).run(operations.machine(name))
