"""`kairos alarms …`: list alarms and acknowledge them."""

from __future__ import annotations

from typing import Annotated

import typer

from kairos import shapes
from kairos.app import SyncKairos
from kairos.cli import output
from kairos.cli.database_option import Json, on_database
from kairos.errors import NotFound
from kairos.shapes.alarm import Alarm

app = typer.Typer(help="Look at alarms, acknowledge them. `kairos doctor` looks for new ones at once.")

Ids = Annotated[list[int], typer.Argument(metavar="ID…", show_default=False, help="The alarms' numbers.")]


@app.command("ls")
@on_database
def list_alarms(
    kairos: SyncKairos,
    everything: Annotated[bool, typer.Option("--all", help="Also those that were cleared.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 100,
    as_json: Json = False,
) -> None:
    """List the open alarms, newest first."""
    found: list[Alarm] = kairos.alarms(all=everything, limit=limit)
    output.listing(
        as_json,
        ("alarms", map(shapes.document, found)),
        ("id", "severity", "kind", "since", "state", "cause"),
        (
            (each.id, each.severity, each.kind, output.instant(each.first_at), _state(each), each.cause)
            for each in found
        ),
        "Quiet.",
    )
    if found and not as_json:
        output.say("\nWhat to do about one: kairos alarms show ID")


@app.command()
@on_database
def show(
    kairos: SyncKairos, alarm_id: Annotated[int, typer.Argument(metavar="ID", show_default=False)]
) -> None:
    """Show one alarm with its cause and what to do."""
    found = [each for each in kairos.alarms(all=True, before=alarm_id + 1, limit=1) if each.id == alarm_id]
    if not found:
        raise NotFound(f"There is no alarm {alarm_id}.")
    (alarm,) = found
    output.facts(
        [
            ("alarm", f"{alarm.id}, {alarm.severity}: {alarm.kind}"),
            ("about", alarm.subject),
            ("state", _state(alarm)),
            ("since", output.instant(alarm.first_at)),
            ("cause", alarm.cause),
            ("remedy", alarm.remedy),
        ]
    )


@app.command()
@on_database
def acknowledge(kairos: SyncKairos, alarm_ids: Ids, as_json: Json = False) -> None:
    """Acknowledge alarms; one about a past event is cleared by that."""
    seen = [kairos.acknowledge(each, actor="cli") for each in alarm_ids]
    if as_json:
        output.document({"alarms": [shapes.document(each) for each in seen]})
    else:
        for each in seen:
            output.say(f"Alarm {each.id} ({each.kind}) is {_state(each)}.")


def _state(alarm: Alarm) -> str:
    if alarm.cleared_at is not None:
        return "cleared"
    return (
        "open" if alarm.acknowledged_at is None else f"acknowledged by {alarm.acknowledged_by or 'somebody'}"
    )
