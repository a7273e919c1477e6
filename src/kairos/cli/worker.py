"""`kairos worker`: run jobs until a signal."""

from __future__ import annotations

from typing import Annotated

import typer

from kairos import defaults
from kairos.cli import log_output, parse, worker_health, worker_process
from kairos.cli.app_loader import BUILTIN_APP, OptionalApp, load_app
from kairos.cli.database_option import DatabaseChoice, client, with_database
from kairos.cli.supervisor import ChildOptions, Supervisor
from kairos.durations import duration
from kairos.errors import BadRequest
from kairos.logger import Logger
from kairos.suggest import did_you_mean

log = Logger("kairos.cli")

Concurrency = Annotated[int, typer.Option(min=1, max=10_000, help="Steps at once in one process.")]


@with_database
def worker(
    database: DatabaseChoice,
    app: OptionalApp = None,
    queues: Annotated[
        str | None,
        typer.Option(
            metavar="A,B=5",
            help="Queues to serve, some with how many of their jobs at once.",
            show_default="those of the app",
        ),
    ] = None,
    concurrency: Concurrency = defaults.CONCURRENCY,
    processes: Annotated[int, typer.Option(min=1, max=1000, help="Worker processes.")] = 1,
    grace: Annotated[
        str, typer.Option(metavar="TIME", help="How long running steps may take to finish at the end.")
    ] = defaults.GRACE,
    lease: Annotated[
        str, typer.Option(metavar="TIME", help="How soon other workers take over the jobs of a lost machine.")
    ] = defaults.LEASE,
    poll: Annotated[
        str, typer.Option(metavar="TIME", help="How soon a job is found if its notification was lost.")
    ] = defaults.POLL,
    retention: Annotated[
        str, typer.Option(metavar="TIME", help="How long jobs are kept after their end.")
    ] = defaults.RETENTION,
    health: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="Answer /healthz and /readyz there, for probes; with one process."
        ),
    ] = None,
    log_format: log_output.LogFormat = log_output.Format.TEXT,
    log_level: log_output.LogLevel = log_output.Level.INFO,
) -> None:
    """Run jobs until a signal: the first lets running jobs finish, the second exits at once."""
    options = worker_process.WorkerOptions(
        queues=None if queues is None else parse.queues(queues),
        concurrency=concurrency,
        grace=_seconds(grace, "grace"),
        lease=_seconds(lease, "lease"),
        poll=_seconds(poll, "poll"),
        retention=_seconds(retention, "retention"),
    )
    if health is not None and processes > 1:
        raise BadRequest(
            "--health answers for one process: leave out --processes, and start more workers instead.",
            field="health",
        )
    beside = None if health is None else worker_health.health(health)
    name = app or BUILTIN_APP
    loaded = load_app(name, database)
    log_output.configure(log_format, log_level)
    used = loaded.registry.queues
    for queue in options.queues or ():
        if queue not in used:
            log.warning(f"no action of the app has the queue {queue!r}.{did_you_mean(queue, used)}")
    if processes == 1:
        code = worker_process.exit_if_stuck(
            worker_process.run(worker_process.serve(loaded, options, beside=beside))
        )
    else:
        # Opened here too: an unreachable database is reported once, and an embedded Postgres runs as long as we do.
        with client(loaded.settings):
            child = ChildOptions(name, options, log_format, log_level)
            code = worker_process.run(Supervisor(child, processes).run())
    raise typer.Exit(code)


def _seconds(text: str, field: str) -> float:
    return duration(parse.length(text), field).total_seconds()
