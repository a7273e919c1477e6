"""`kairos machines` and `kairos lifecycle`: state machines as tables and diagrams."""

from __future__ import annotations

import sys
from itertools import groupby
from typing import Annotated

import typer

from kairos import operations, serializers
from kairos.app import SyncKairos
from kairos.cli import output
from kairos.cli.app_loader import app_argument, load_app
from kairos.cli.database_option import DatabaseChoice, Json, connect, with_database
from kairos.fsm import render
from kairos.fsm.lifecycle import SPEC, TRANSITIONS


@with_database
def machines(
    database: DatabaseChoice,
    app: Annotated[str | None, app_argument("[APP]", "what workers registered")] = None,
    diagram: Annotated[
        str | None, typer.Option(metavar="NAME", help="Draw this machine as a mermaid diagram.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the machines that an app knows, or those that workers have registered."""
    if app is None:
        with connect(database.settings()) as kairos:
            _registered(kairos, diagram, as_json)
        return
    registry = load_app(app, database).registry
    if diagram is not None:
        spec = registry.latest(diagram).spec
        if as_json:
            output.document(render.as_json(spec))
        else:
            sys.stdout.write(render.mermaid(spec))
        return
    found = sorted(registry, key=lambda machine: (machine.name, machine.version))
    output.listing(
        as_json,
        ("machines", map(serializers.machine, found)),
        ("action", "version", "queue", "ttl", "input", "steps"),
        (
            (
                machine.name,
                machine.version,
                machine.queue,
                output.span(machine.ttl),
                ", ".join(machine.state.json_schema().get("properties", ())),
                ", ".join(machine.spec.states),
            )
            for machine in found
        ),
        f"{app} has no machines yet: decorate a function with @app.job.",
    )


def _registered(kairos: SyncKairos, diagram: str | None, as_json: bool) -> None:
    """Show the machines registered in the database, without their code."""
    if diagram is not None:
        newest = kairos.run(operations.machine(diagram))[-1]
        if as_json:
            output.document(newest.diagram)
        else:
            sys.stdout.write(render.mermaid(render.from_json(newest.diagram)))
        return
    found = kairos.run(operations.machines())
    by_name = (list(versions) for _, versions in groupby(found, key=lambda row: row.name))
    output.listing(
        as_json,
        ("machines", map(serializers.registered, by_name)),
        ("action", "version", "queue", "ttl", "input", "steps", "workers"),
        (
            (
                row.name,
                row.version,
                row.queue,
                output.span(row.ttl),
                ", ".join(row.input.get("properties", ())),
                ", ".join(row.diagram["states"]),
                row.workers,
            )
            for row in found
        ),
        "No machines: a worker registers those it knows when it starts.",
    )


def lifecycle(
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Draw it as a mermaid diagram.")] = False,
    as_json: Json = False,
) -> None:
    """Show every state of a job and every transition."""
    if as_json:
        output.document(render.as_json(SPEC))
    elif mermaid:
        sys.stdout.write(render.mermaid(SPEC))
    else:
        output.show(
            ("verb", "from", "to", "by", "because"),
            [
                (row.verb, ", ".join(row.sources), output.state(row.target), row.by, row.because)
                for row in TRANSITIONS
            ],
            wrap=True,
        )
