"""`kairos when`: what an intent means, and when it fires."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from kairos.cli import tables
from kairos.cli.place import Json
from kairos.config import load
from kairos.schedule import Plan
from kairos.schedule import when as compile_intent

Intent = Annotated[
    str,
    typer.Argument(metavar="INTENT", show_default=False, help='Such as "every weekday at 9am in London".'),
]
Zone = Annotated[str, typer.Option("--tz", metavar="ZONE", help="The time zone if the intent names none.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="How many instants to show.")]


def when(intent: Intent, tz: Zone = "UTC", limit: Limit = 5, as_json: Json = False) -> None:
    """Say what an intent means and when it fires next, without storing anything."""
    plan = compile_intent(intent, tz=tz, calendars=load({}).holidays)
    ticks = plan.ticks(limit=limit)
    if as_json:
        tables.document({"intent": intent, **document(plan, ticks)})
    else:
        tables.say(plan.sentence)
        show_ticks(ticks, plan.zone)


def document(plan: Plan, ticks: list[datetime]) -> dict[str, Any]:
    return {"sentence": plan.sentence, "tz": plan.zone, "nextTicks": ticks}


def show_ticks(ticks: list[datetime] | tuple[datetime, ...], zone: str) -> None:
    """Instants by the clock on the wall of `zone`, and in UTC."""
    here = ZoneInfo(zone)
    tables.show(
        (f"fires ({zone})", "in UTC", "which is"),
        [
            (f"{tick.astimezone(here):%a %Y-%m-%d %H:%M:%S}", f"{tick:%Y-%m-%d %H:%M:%S}Z", tables.ago(tick))
            for tick in ticks
        ],
    )
