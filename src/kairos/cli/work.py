"""`kairos worker`, `kairos migrate`, `kairos bench`: what runs Kairos in earnest."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

import kairos
from kairos.cli import logs, reading, serve, tables
from kairos.cli.load import BARE, OptionalApp, load_app
from kairos.cli.place import Data, DatabaseUrl, Json, client
from kairos.cli.supervisor import Order, Supervisor
from kairos.durations import duration
from kairos.errors import ConfigError
from kairos.store.migrate import wanted_version

CLONE = Path(kairos.__file__).parents[2]

Concurrency = Annotated[int, typer.Option(min=1, max=10_000, help="Steps at once in one process.")]


def worker(
    ctx: typer.Context,
    app: OptionalApp = None,
    queues: Annotated[
        str | None,
        typer.Option(
            metavar="A,B=5",
            help="Queues to serve, some with how many of their jobs at once.",
            show_default="those of the app",
        ),
    ] = None,
    concurrency: Concurrency = 20,
    processes: Annotated[int, typer.Option(min=1, max=1000, help="Worker processes.")] = 1,
    grace: Annotated[
        str, typer.Option(metavar="TIME", help="How long running steps may take to finish at the end.")
    ] = "30s",
    lease: Annotated[
        str, typer.Option(metavar="TIME", help="How soon the jobs of a lost machine are another's.")
    ] = "30s",
    poll: Annotated[
        str, typer.Option(metavar="TIME", help="How soon a job is found that no hint was sent for.")
    ] = "1s",
    retention: Annotated[
        str, typer.Option(metavar="TIME", help="How long jobs are kept after their end.")
    ] = "7d",
    database_url: DatabaseUrl = None,
    data: Data = None,
    log_format: logs.LogFormat = logs.Format.TEXT,
) -> None:
    """Run jobs until a signal: the first lets what runs finish, the second ends at once."""
    options = serve.WorkerOptions(
        queues=None if queues is None else reading.queues(queues),
        concurrency=concurrency,
        grace=_seconds(grace, "grace"),
        lease=_seconds(lease, "lease"),
        poll=_seconds(poll, "poll"),
        retention=_seconds(retention, "retention"),
    )
    name = app or BARE
    loaded = load_app(name, ctx.obj.or_rather(database_url, data))
    logs.configure(log_format)
    if processes == 1:
        code = serve.leave(serve.run(serve.serve(loaded, options)))
    else:
        # Open here too: what cannot be reached is said once, and an embedded Postgres lives as long as we do.
        with client(loaded.settings):
            code = serve.run(_supervise(Order(name, options, log_format), processes))
    raise typer.Exit(code)


def _seconds(text: str, field: str) -> float:
    return duration(reading.length(text), field).total_seconds()


async def _supervise(order: Order, count: int) -> int:
    return await Supervisor(order, count).run()


def migrate(
    ctx: typer.Context, database_url: DatabaseUrl = None, data: Data = None, as_json: Json = False
) -> None:
    """Bring the database's schema up to what this Kairos needs."""
    kairos = client(ctx.obj.or_rather(database_url, data).settings())
    try:
        applied = kairos.migrate()
    finally:
        kairos.close()
    if as_json:
        tables.document({"applied": applied, "version": wanted_version()})
    elif applied:
        tables.say(f"Applied {', '.join(applied)}.")
    else:
        tables.say(f"The schema is at version {wanted_version()}, as it should be: nothing to do.")


def bench(ctx: typer.Context) -> NoReturn:
    """Measure this machine: what follows goes to the benchmark in `bench/` of a clone."""
    if not (CLONE / "bench").is_dir():
        raise ConfigError("There is no bench folder: the benchmark runs from a clone of the repository.")
    sys.stdout.flush()
    os.chdir(CLONE)
    os.execv(sys.executable, [sys.executable, "-m", "bench", *ctx.args])  # noqa: S606 - as we are
