"""`kairos schedules …`: list, add, pause, resume, trigger, backfill and remove schedules."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from kairos import serializers, shapes
from kairos.app import SyncKairos
from kairos.cli import output, parse
from kairos.cli.app_loader import load_app, split_words
from kairos.cli.database_option import DatabaseChoice, Json, connect, on_database, with_database
from kairos.cli.when import CatchUp, Overlap, Zone, show_ticks, when
from kairos.shapes.schedule import Schedule, Tick

app = typer.Typer(help="Look at schedules, add them, pause them, fire them.")

Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="The schedule's name.")]
Instant = Annotated[str, typer.Option(metavar="INSTANT", help="Such as 2027-01-31T09:00Z.")]


@app.command("ls")
@on_database
def list_schedules(kairos: SyncKairos, as_json: Json = False) -> None:
    """List every schedule with its next tick."""
    found: list[Schedule] = kairos.schedules.list()
    output.listing(
        as_json,
        ("schedules", (serializers.schedule(each, kairos.registry) for each in found)),
        ("schedule", "when", "runs", "next", "state"),
        ((each.name, each.sentence, each.action, output.ago(_next(each)), _state(each)) for each in found),
        "No schedules: add one with `kairos schedules add`.",
    )


@app.command()
@with_database
def add(
    database: DatabaseChoice,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[APP] NAME INTENT ACTION [KEY=VALUE]...",
            show_default=False,
            help='The app, unless KAIROS_APP names it; the schedule; when, as in "every day at 9am"; what to run; '
            "its arguments.",
        ),
    ],
    tz: Zone = "UTC",
    overlap: Overlap = "allow",
    catch_up: CatchUp = "last",
    within: Annotated[str, typer.Option(metavar="TIME", help="How far back catching up goes.")] = "1d",
    jitter: Annotated[str, typer.Option(metavar="TIME", help="Spread the jobs over this time.")] = "0s",
    start: Annotated[
        str | None, typer.Option(metavar="INSTANT", help="No tick before, such as 2027-01-31T09:00Z.")
    ] = None,
    end: Annotated[str | None, typer.Option(metavar="INSTANT", help="No tick after.")] = None,
    count: Annotated[int | None, typer.Option(help="End after this many ticks.")] = None,
    queue: Annotated[str | None, typer.Option(help="Another queue than the action's own.")] = None,
    key: Annotated[str | None, typer.Option(help="Jobs of one key run one after the other.")] = None,
    ttl: Annotated[
        str | None, typer.Option(metavar="TIME", help="A job expires if no worker took it in this time.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Add a schedule, or edit the one of that name."""
    app, (name, intent, action, *pairs) = split_words(
        words,
        3,
        "a schedule's name, a time and an action: write `kairos schedules add app.py daily 'every day at 9am' report`",
    )
    loaded = load_app(app, database)
    kairos = connect(loaded.settings, loaded.registry)
    options = parse.given(queue=queue, key=key, ttl=None if ttl is None else parse.length(ttl))
    call = kairos.action(action).options(**options).call(**parse.arguments(pairs, None))
    with kairos:
        schedule: Schedule = kairos.schedules.add(
            name,
            intent,
            call,
            tz=tz,
            overlap=overlap,
            catch_up=catch_up,
            catch_up_within=parse.length(within),
            jitter=parse.length(jitter),
            start=None if start is None else parse.instant(start, "--start"),
            end=None if end is None else parse.instant(end, "--end"),
            count=count,
        )
    _answer(schedule, as_json, kairos)


app.command("preview")(when)


@app.command()
@on_database
def show(kairos: SyncKairos, name: Name, as_json: Json = False) -> None:
    """Show one schedule, its next ticks and the last decided ones."""
    schedule: Schedule = kairos.schedules.get(name)
    decided: list[Tick] = kairos.schedules.ticks(name, limit=10)
    if as_json:
        output.document(
            {
                "schedule": serializers.schedule(schedule, kairos.registry),
                "ticks": [shapes.document(each) for each in decided],
            }
        )
        return
    _answer(schedule, False, kairos)
    if decided:
        output.show(
            ("tick", "became"),
            [
                (output.instant(each.tick_at), f"job {each.job_id}" if each.job_id else each.reason)
                for each in decided
            ],
        )


@app.command()
@on_database
def pause(
    kairos: SyncKairos,
    name: Name,
    reason: Annotated[str | None, typer.Option(help="Why; shown with the schedule.")] = None,
    as_json: Json = False,
) -> None:
    """Pause a schedule until it is resumed."""
    _answer(kairos.schedules.pause(name, reason), as_json, kairos)


@app.command()
@on_database
def resume(kairos: SyncKairos, name: Name, as_json: Json = False) -> None:
    """Resume a paused schedule."""
    _answer(kairos.schedules.resume(name), as_json, kairos)


@app.command()
@on_database
def trigger(kairos: SyncKairos, name: Name, as_json: Json = False) -> None:
    """Enqueue a schedule's job now, outside its ticks."""
    job_id = kairos.schedules.trigger(name)
    output.result(as_json, {"job": {"id": job_id}}, f"Job {job_id} was enqueued.")


@app.command()
@on_database
def backfill(kairos: SyncKairos, name: Name, start: Instant, end: Instant, as_json: Json = False) -> None:
    """Fire the ticks after START and up to END that were never decided on."""
    jobs = kairos.schedules.backfill(name, parse.instant(start, "--start"), parse.instant(end, "--end"))
    output.result(as_json, {"jobs": [{"id": each} for each in jobs]}, f"{len(jobs)} jobs were enqueued.")


@app.command("rm")
@on_database
def remove(kairos: SyncKairos, name: Name, as_json: Json = False) -> None:
    """Delete a schedule; its jobs and the record of its ticks stay."""
    kairos.schedules.remove(name)
    output.result(as_json, {"removed": name}, f"Schedule {name} is gone; its jobs stay.")


def _answer(schedule: Schedule, as_json: bool, kairos: SyncKairos) -> None:
    document = serializers.schedule(schedule, kairos.registry)
    if as_json:
        output.document({"schedule": document})
        return
    pairs: list[tuple[str, Any]] = [
        ("schedule", schedule.name),
        ("when", schedule.sentence),
        ("runs", f"{schedule.action} {output.code(document['input'])}"),
        ("state", _state(schedule)),
        ("overlap", schedule.overlap),
        ("catch-up", schedule.catch_up),
    ]
    output.facts(pairs)
    if schedule.next_ticks:
        show_ticks(schedule.next_ticks, schedule.tz)


def _next(schedule: Schedule) -> datetime | None:
    """Return the next tick; a paused schedule has none, and the one that it was paused before may be long past."""
    return schedule.next_tick_at if schedule.paused_at is None else None


def _state(schedule: Schedule) -> str:
    if schedule.paused_at is not None:
        why = f": {schedule.pause_reason}" if schedule.pause_reason else ""
        return f"paused {output.ago(schedule.paused_at)}{why}"
    return "fires" if schedule.next_tick_at is not None else "has come to its end"
