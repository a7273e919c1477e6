"""`kairos queues …`: what waits where, and how fast it may go."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from kairos import documents
from kairos.app import SyncKairos
from kairos.cli import tables
from kairos.cli.place import Json, on_database
from kairos.cli.reading import rate as read_rate
from kairos.errors import BadRequest
from kairos.store.rows import Queue

app = typer.Typer(help="Look at queues, pause them, limit them.")

Name = Annotated[str, typer.Argument(metavar="QUEUE", show_default=False, help="The queue's name.")]
Rate = Annotated[str | None, typer.Option(metavar="N/TIME", help="At most so many starts, such as 100/1m.")]


LIVE = ("scheduled", "pending", "running", "waiting")


def count(queue: Queue, state: str) -> str:
    """How many jobs it has in a state, with a plus where there may be more."""
    return f"{getattr(queue, state)}{'+' if state in queue.at_least else ''}"


@app.command("ls")
@on_database
def list_queues(kairos: SyncKairos, as_json: Json = False) -> None:
    """List the queues that have live work or settings."""
    found: list[Queue] = kairos.queues()
    if as_json:
        tables.document({"queues": [documents.queue(queue) for queue in found]})
    elif not found:
        tables.say("No queues: nothing is live, and none has settings.")
    else:
        tables.show(
            ("queue", *LIVE, "settings"),
            [(each.name, *(count(each, state) for state in LIVE), _settings(each)) for each in found],
        )


@app.command()
@on_database
def pause(kairos: SyncKairos, queue: Name, as_json: Json = False) -> None:
    """Stop picking from a queue; what runs goes on."""
    _answer(kairos.pause(queue), as_json)


@app.command()
@on_database
def resume(kairos: SyncKairos, queue: Name, as_json: Json = False) -> None:
    """Pick from a queue again."""
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
    """Set a queue's limits over all workers, all at once: what is left out is lifted."""
    given = any(each is not None for each in (concurrency, rate, key_concurrency, key_rate))
    if given == none:
        raise BadRequest("Give the limits to set, or --none to lift them all.")
    answer = kairos.limit(
        queue,
        concurrency=concurrency,
        rate=None if rate is None else read_rate(rate, "--rate"),
        key_concurrency=key_concurrency,
        key_rate=None if key_rate is None else read_rate(key_rate, "--key-rate"),
    )
    _answer(answer, as_json)


def _answer(queue: Queue, as_json: bool) -> None:
    if as_json:
        tables.document({"queue": documents.settings(queue)})
    else:
        tables.say(f"Queue {queue.name}: {_settings(queue) or 'runs without limits'}.")


def _settings(queue: Queue) -> str:
    said = [
        queue.paused_at and f"paused {tables.ago(queue.paused_at)}",
        queue.concurrency and f"{queue.concurrency} at once",
        _rate(queue.rate_limit, queue.rate_period),
        queue.key_concurrency != 1 and f"{queue.key_concurrency} at once per key",
        (key_rate := _rate(queue.key_rate_limit, queue.key_rate_period)) and f"{key_rate} per key",
    ]
    return ", ".join(each for each in said if each)


def _rate(limit: int | None, period: timedelta | None) -> str:
    return "" if limit is None else f"{limit} in {tables.span(period)}"
