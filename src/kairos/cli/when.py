"""`kairos when`: show what an intent means and when it fires."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from kairos.cli import output
from kairos.cli.database_option import Json
from kairos.config import load
from kairos.schedule import Plan
from kairos.schedule import when as compile_intent

Intent = Annotated[
    str,
    typer.Argument(metavar="INTENT", show_default=False, help='Such as "every weekday at 9am in London".'),
]
Zone = Annotated[str, typer.Option("--tz", metavar="ZONE", help="The time zone if the intent names none.")]
Overlap = Annotated[
    str, typer.Option(help="What a tick does while the last job still runs: allow, skip, queue or cancel.")
]
CatchUp = Annotated[str, typer.Option(help="Which missed ticks fire later: none, last or all.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="How many instants to show.")]


Words = Annotated[
    list[str],
    typer.Argument(metavar="INTENT", show_default=False, help="Such as every weekday at 9am in London."),
]


def when(words: Words, tz: Zone = "UTC", limit: Limit = 5, as_json: Json = False) -> None:
    """Show what an intent means and when it fires next, without storing anything."""
    intent = " ".join(words)
    plan = compile_intent(intent, tz=tz, calendars=load({}).holidays)
    ticks = plan.ticks(limit=limit)
    if as_json:
        output.document({"intent": intent, **document(plan, ticks)})
    else:
        output.say(plan.sentence)
        show_ticks(ticks, plan.zone)


def document(plan: Plan, ticks: list[datetime]) -> dict[str, Any]:
    return {"sentence": plan.sentence, "tz": plan.zone, "nextTicks": ticks}


def show_ticks(ticks: list[datetime] | tuple[datetime, ...], zone: str) -> None:
    """Print instants in the time zone and in UTC."""
    here = ZoneInfo(zone)
    output.show(
        (f"fires ({zone})", "in UTC", "which is"),
        [
            (f"{tick.astimezone(here):%a %Y-%m-%d %H:%M:%S}", f"{tick:%Y-%m-%d %H:%M:%S}Z", output.ago(tick))
            for tick in ticks
        ],
    )
