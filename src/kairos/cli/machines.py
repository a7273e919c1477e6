"""`kairos machines` and `kairos lifecycle`: the state machines, as tables and drawings."""

from __future__ import annotations

import sys
from itertools import groupby
from typing import Annotated

import typer

from kairos import documents, verbs
from kairos.app import SyncKairos
from kairos.cli import tables
from kairos.cli.load import load_app
from kairos.cli.place import Data, DatabaseUrl, Json, connect
from kairos.fsm import render
from kairos.fsm.lifecycle import SPEC, TRANSITIONS

MaybeApp = Annotated[
    str | None,
    typer.Argument(
        metavar="[APP]",
        envvar="KAIROS_APP",
        show_default="what workers registered",
        help="module:app, path/to/file.py, path/to/file.py:app or a folder of such files.",
    ),
]


def machines(
    ctx: typer.Context,
    app: MaybeApp = None,
    diagram: Annotated[
        str | None, typer.Option(metavar="NAME", help="Draw this machine as a mermaid diagram.")
    ] = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """List the machines that an app knows, or those that workers have registered."""
    place = ctx.obj.or_rather(database_url, data)
    if app is None:
        with connect(place.settings()) as kairos:
            _registered(kairos, diagram, as_json)
        return
    registry = load_app(app, place).registry
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


def _registered(kairos: SyncKairos, diagram: str | None, as_json: bool) -> None:
    """What the database knows: the same, without the code."""
    if diagram is not None:
        newest = kairos.run(verbs.machine(diagram))[-1]
        if as_json:
            tables.document(newest.diagram)
        else:
            sys.stdout.write(render.mermaid(render.of_json(newest.diagram)))
        return
    found = kairos.run(verbs.machines())
    if as_json:
        by_name = [list(versions) for _, versions in groupby(found, key=lambda row: row.name)]
        tables.document({"machines": [documents.registered(versions) for versions in by_name]})
    elif not found:
        tables.say("No machines: a worker registers those it knows when it starts.")
    else:
        tables.show(
            ("action", "version", "queue", "ttl", "input", "steps", "workers"),
            [
                (
                    row.name,
                    row.version,
                    row.queue,
                    tables.span(row.ttl),
                    ", ".join(row.input.get("properties", ())),
                    ", ".join(row.diagram["states"]),
                    row.workers,
                )
                for row in found
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
