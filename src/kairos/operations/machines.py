"""The machines that workers registered in the database, for the API, CLI and dashboard, which lack their code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kairos import json_codec
from kairos.alarms.thresholds import LIVE_FOR
from kairos.errors import NotFound
from kairos.fsm import render
from kairos.machine.definition import Machine
from kairos.machine.field_checks import check_name
from kairos.machine.registry import Registry
from kairos.machine.stored_machine import write_options
from kairos.shapes import read
from kairos.shapes.machine import MachineRow
from kairos.store.array_literals import microseconds, plain, texts
from kairos.store.query import Operation, Query


def register(registry: Registry) -> Operation[None]:
    """Save every machine of a registry in the database, in one statement."""
    known: list[Machine] = list(registry)
    if not known:
        return
    yield Query(
        "save_machines",
        (
            texts([machine.name for machine in known]),
            plain([machine.version for machine in known]),
            texts([machine.queue for machine in known]),
            microseconds(machine.ttl for machine in known),
            texts([machine.initial for machine in known]),
            texts([json_codec.dumps(_input(machine), "input") for machine in known]),
            texts([json_codec.dumps(render.as_json(machine.spec), "diagram") for machine in known]),
            texts([texts(sorted(machine.redact)) if machine.redact else None for machine in known]),
            texts(
                [json_codec.dumps(write_options(registry.options(machine)), "options") for machine in known]
            ),
            texts([texts(machine.search) if machine.search else None for machine in known]),
        ),
    )


def _input(machine: Machine) -> dict[str, Any]:
    """Return the JSON schema of the input; jsonb forgets the order of the fields, so `x-order` names them."""
    schema = machine.state.json_schema()
    return {**schema, "x-order": list(schema.get("properties", ()))}


def machines(
    names: Iterable[str] | None = None, *, after: str | None = None, limit: int | None = None
) -> Operation[list[MachineRow]]:
    """Return every version of the registered machines, by name; or of at most `limit` machines after a name."""
    found = yield Query("list_machines", (None if names is None else list(names), LIVE_FOR, after, limit))
    return [read(MachineRow, row) for row in found]


def machine(name: str) -> Operation[list[MachineRow]]:
    """Return every version of one machine, the newest last."""
    check_name(name, "machine")
    found = yield from machines([name])
    if not found:
        raise NotFound(f"There is no machine {name!r}; a worker registers those it knows when it starts.")
    return found
