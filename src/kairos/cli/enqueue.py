"""`kairos enqueue`: enqueue a job from the shell."""

from __future__ import annotations

from typing import Annotated

import typer

from kairos import serializers
from kairos.cli import parse
from kairos.cli.app_loader import load_app, split_words
from kairos.cli.database_option import DatabaseChoice, Json, connect, with_database
from kairos.cli.job_requests import answer
from kairos.cli.when import Zone
from kairos.machine.backoff import Backoff
from kairos.shapes.job import Job


@with_database
def enqueue(
    database: DatabaseChoice,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[APP] ACTION [KEY=VALUE]...",
            show_default=False,
            help="The app, unless KAIROS_APP names it; what to run; its arguments: a value that is JSON is taken as "
            "JSON, any other as text.",
        ),
    ],
    text: Annotated[
        str | None,
        typer.Option("--input", metavar="JSON", help="All arguments as one object; - reads standard input."),
    ] = None,
    queue: Annotated[str | None, typer.Option(help="Another queue than the action's own.")] = None,
    priority: Annotated[int | None, typer.Option(help="Lower is earlier.")] = None,
    run_at: Annotated[
        str | None, typer.Option(metavar="INSTANT", help="Not before, such as 2027-01-31T09:00Z.")
    ] = None,
    delay: Annotated[
        str | None, typer.Option(metavar="TIME", help="Not before this has passed: 90s, 5m.")
    ] = None,
    when: Annotated[
        str | None, typer.Option(metavar="INTENT", help='The one time it runs, such as "tomorrow noon".')
    ] = None,
    tz: Zone = "UTC",
    ttl: Annotated[
        str | None, typer.Option(metavar="TIME", help="It expires if no worker took it in this time.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Jobs of one key run one after the other.")] = None,
    unique: Annotated[str | None, typer.Option(help="Refuse it while another job holds this key.")] = None,
    retry: Annotated[
        int | None, typer.Option(metavar="N", help="Try it N times in all, whatever its action says.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="To find it by; may be given again.")] = None,
    as_json: Json = False,
) -> None:
    """Enqueue a job: its arguments are checked now, and a worker runs it."""
    app, (action, *pairs) = split_words(words, 1, "an action: write `kairos enqueue app.py greet name=world`")
    loaded = load_app(app, database)
    options = parse.given(
        queue=queue,
        priority=priority,
        run_at=None if run_at is None else parse.instant(run_at, "--run-at"),
        delay=None if delay is None else parse.length(delay),
        when=when,
        tz=None if when is None else tz,
        ttl=None if ttl is None else parse.length(ttl),
        key=key,
        unique=unique,
        retry=None if retry is None else Backoff(attempts=retry),
        tags=tag or None,
    )
    kairos = connect(loaded.settings, loaded.registry)
    call = kairos.action(action).options(**options).call(**parse.arguments(pairs, text))
    with kairos:
        job: Job = kairos.enqueue(call)
    answer(job, as_json, f" in queue {job.queue}", document=serializers.job(job, loaded.registry))
