"""The root of the command line: every command in one place, in the order people meet them."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from kairos.cli import jobs, keys, queues, schedules
from kairos.cli.crontab import import_crontab
from kairos.cli.dev import dev
from kairos.cli.doctor import doctor
from kairos.cli.enqueue import enqueue
from kairos.cli.machines import lifecycle, machines
from kairos.cli.place import Data, DatabaseUrl, Place
from kairos.cli.run import run
from kairos.cli.service import serve_http
from kairos.cli.top import top
from kairos.cli.when import when
from kairos.cli.work import bench, migrate, worker

app = typer.Typer(
    name="kairos",
    help="A scheduler that fails loudly: durable jobs, state machines and schedules for Python, on Postgres.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.command()(dev)
app.command("serve")(serve_http)
app.command()(worker)
app.command()(migrate)
app.command()(enqueue)
app.add_typer(jobs.app, name="jobs")
app.command()(jobs.signal)
app.add_typer(schedules.app, name="schedules")
app.command()(when)
app.command()(run)
app.command("import-crontab")(import_crontab)
app.add_typer(queues.app, name="queues")
app.add_typer(keys.app, name="keys")
app.command()(machines)
app.command()(lifecycle)
app.command()(top)
app.command()(doctor)
app.command(
    add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)(bench)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kairos {version('kairos-scheduler')}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    database_url: DatabaseUrl = None,
    data: Data = None,
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    ctx.obj = Place().or_rather(database_url, data)
