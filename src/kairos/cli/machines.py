"""`kairos machines` and `kairos lifecycle`: the state machines, as tables and drawings."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from kairos import documents
from kairos.cli import tables
from kairos.cli.load import App, load_app
from kairos.cli.place import Json
from kairos.fsm import render
from kairos.fsm.lifecycle import SPEC, TRANSITIONS


def machines(
    ctx: typer.Context,
    app: App,
    diagram: Annotated[
        str | None, typer.Option(metavar="NAME", help="Draw this machine as a mermaid diagram.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the machines that an app knows."""
    registry = load_app(app, ctx.obj).registry
    if diagram is not None:
        spec = registry.latest(diagram).spec
        if as_json:
            tables.document(render.as_json(spec))
        else:
            sys.stdout.write(render.mermaid(spec))
        return
    found = sorted(registry, key=lambda machine: (machine.name, machine.version))
    if as_json:
        tables.document({"machines": [documents.machine(machine) for machine in found]})
    elif not found:
        tables.say(f"{app} has no machines yet: decorate a function with @app.job.")
    else:
        tables.show(
            ("action", "version", "queue", "ttl", "input", "steps"),
            [
                (
                    machine.name,
                    machine.version,
                    machine.queue,
                    tables.span(machine.ttl),
                    ", ".join(machine.state.json_schema().get("properties", ())),
                    ", ".join(machine.spec.states),
                )
                for machine in found
            ],
        )


def lifecycle(
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Draw it as a mermaid diagram.")] = False,
    as_json: Json = False,
) -> None:
    """Show every state a job can be in, and every change that can happen to it."""
    if as_json:
        tables.document(render.as_json(SPEC))
    elif mermaid:
        sys.stdout.write(render.mermaid(SPEC))
    else:
        tables.show(
            ("verb", "from", "to", "by", "because"),
            [
                (row.verb, ", ".join(row.sources), tables.state(row.target), row.by, row.because)
                for row in TRANSITIONS
            ],
            wrap=True,
        )
