"""`kairos queues …`: list, pause and limit queues."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

import typer

from kairos import serializers, shapes
from kairos.app import SyncKairos
from kairos.cli import output
from kairos.cli.database_option import Json, on_database
from kairos.cli.parse import rate as read_rate
from kairos.errors import BadRequest, NotFound
from kairos.fsm.lifecycle import LIVE
from kairos.logger import Logger
from kairos.shapes.queue import Queue
from kairos.suggest import did_you_mean

log = Logger("kairos.cli")
app = typer.Typer(help="Look at queues, pause them, limit them.")

Name = Annotated[str, typer.Argument(metavar="QUEUE", show_default=False, help="The queue's name.")]
Rate = Annotated[
    str | None, typer.Option(metavar="N/TIME", help="How many may start in that time, such as 100/1m.")
]


def count(queue: Queue, state: str) -> str:
    """Format the number of jobs in a state, with a plus if there may be more."""
    return f"{getattr(queue, state)}{'+' if state in queue.at_least else ''}"


@app.command("ls")
@on_database
def list_queues(kairos: SyncKairos, as_json: Json = False) -> None:
    """List the queues that have or had jobs, have settings or have a live worker."""
    found: list[Queue] = kairos.queues()
    output.listing(
        as_json,
        ("queues", map(shapes.document, found)),
        ("queue", *LIVE, "settings"),
        ((each.name, *(count(each, state) for state in LIVE), _settings(each)) for each in found),
        "No queues: nothing is live, and none has settings.",
    )


@app.command()
@on_database
def pause(
    kairos: SyncKairos,
    queue: Name,
    new: Annotated[bool, typer.Option("--new", help="Also a queue that was never used.")] = False,
    as_json: Json = False,
) -> None:
    """Stop picking from a queue; running jobs continue."""
    if not new and (unused := _unused(kairos, queue)):
        raise NotFound(f"{unused} Use --new to pause it anyway.")
    _answer(kairos.pause(queue), as_json)


@app.command()
@on_database
def resume(kairos: SyncKairos, queue: Name, as_json: Json = False) -> None:
    """Pick from a queue again."""
    _warn_if_unused(kairos, queue)
    _answer(kairos.resume(queue), as_json)


@app.command()
@on_database
def limit(
    kairos: SyncKairos,
    queue: Name,
    concurrency: Annotated[int | None, typer.Option(help="Running at once, over all workers.")] = None,
    rate: Rate = None,
    key_concurrency: Annotated[
        int | None, typer.Option(help="Running at once for each partition key.")
    ] = None,
    key_rate: Rate = None,
    none: Annotated[bool, typer.Option("--none", help="Lift every limit.")] = False,
    as_json: Json = False,
) -> None:
    """Set all limits of a queue over all workers; a limit that is not given is removed."""
    given = any(each is not None for each in (concurrency, rate, key_concurrency, key_rate))
    if given == none:
        raise BadRequest("Give the limits to set, or --none to lift them all.")
    limits: dict[str, Any] = {
        "concurrency": concurrency,
        "rate": None if rate is None else read_rate(rate, "--rate"),
        "key_concurrency": key_concurrency,
        "key_rate": None if key_rate is None else read_rate(key_rate, "--key-rate"),
    }
    _warn_if_unused(kairos, queue)
    _answer(kairos.limit(queue, **limits), as_json)


def _unused(kairos: SyncKairos, queue: str) -> str:
    """Say that no job and no setting has this queue; nothing if one has."""
    known = {each.name for each in kairos.queues()}
    return (
        f"The queue {queue!r} was never used.{did_you_mean(queue, known)}"
        if queue and queue not in known
        else ""
    )


def _warn_if_unused(kairos: SyncKairos, queue: str) -> None:
    """A queue may be limited before its first job; a misspelled one is told."""
    if unused := _unused(kairos, queue):
        log.warning(unused)


def _answer(queue: Queue, as_json: bool) -> None:
    sentence = f"Queue {queue.name}: {_settings(queue) or 'runs without limits'}."
    output.result(as_json, {"queue": serializers.settings(queue)}, sentence)


def _settings(queue: Queue) -> str:
    settings = [
        queue.paused_at and f"paused {output.ago(queue.paused_at)}",
        queue.concurrency and f"{queue.concurrency} at once",
        _rate(queue.rate_limit, queue.rate_period),
        queue.key_concurrency != 1 and f"{queue.key_concurrency} at once per key",
        (key_rate := _rate(queue.key_rate_limit, queue.key_rate_period)) and f"{key_rate} per key",
    ]
    return ", ".join(each for each in settings if each)


def _rate(limit: int | None, period: timedelta | None) -> str:
    return "" if limit is None else f"{limit} in {output.span(period)}"
