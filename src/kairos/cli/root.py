"""The root of the command line: every command, in the order of the help page, loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from kairos.cli.database_option import Data, DatabaseChoice, DatabaseUrl

# The module of each command and its function; a module with several commands has them under `app`.
_COMMANDS = {
    "dev": "dev:dev",
    "serve": "serve:serve",
    "worker": "worker:worker",
    "migrate": "migrate:migrate",
    "enqueue": "enqueue:enqueue",
    "jobs": "jobs:app",
    "signal": "job_requests:signal",
    "schedules": "schedules:app",
    "when": "when:when",
    "run": "run:run",
    "import-crontab": "import_crontab:import_crontab",
    "queues": "queues:app",
    "alarms": "alarms:app",
    "keys": "keys:app",
    "machines": "machines:machines",
    "lifecycle": "machines:lifecycle",
    "top": "top:top",
    "doctor": "doctor:doctor",
    "bench": "source_checkout:bench",
    "chaos": "source_checkout:chaos",
    "cluster": "source_checkout:cluster",
}
_VALUED = ("--database-url", "--data")
# Passed on to a program of its own, which reads its options itself.
_PASSED_ON: dict[str, Any] = {
    "add_help_option": False,
    "context_settings": {"allow_extra_args": True, "ignore_unknown_options": True},
}


def for_arguments(arguments: Sequence[str]) -> typer.Typer:
    """Return the command line with the one command that the arguments name, or with all of them."""
    rest = iter(arguments)
    for each in rest:
        if each in _VALUED:
            next(rest, None)
        elif not each.startswith("-"):
            return build([each] if each in _COMMANDS else _COMMANDS)
    return build(() if "--version" in arguments else _COMMANDS)


def build(names: Iterable[str]) -> typer.Typer:
    """Return the command line with these commands."""
    app = typer.Typer(
        name="kairos",
        help="A scheduler that fails loudly: durable jobs, state machines and schedules for Python, on Postgres.",
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for name in names:
        module, _, attribute = _COMMANDS[name].partition(":")
        command = getattr(import_module(f"kairos.cli.{module}"), attribute)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name, **(_PASSED_ON if name in ("bench", "chaos", "cluster") else {}))(command)
    app.callback(invoke_without_command=False)(root)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"kairos {version('kairos-scheduler')}")
        raise typer.Exit


def root(
    ctx: typer.Context,
    database_url: DatabaseUrl = None,
    data: Data = None,
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    ctx.obj = DatabaseChoice().overridden_by(database_url, data)


def __getattr__(name: str) -> Any:
    """Build the whole command line when it is asked for as `app`."""
    if name == "app":
        return build(_COMMANDS)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
