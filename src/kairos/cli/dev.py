"""`kairos dev`: run Postgres, the service, the dashboard and a reloading worker for development."""

from __future__ import annotations

import shlex
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from kairos import defaults
from kairos.api import load_service
from kairos.api.sockets import address, listen
from kairos.cli import log_output, output, worker_process
from kairos.cli.app_loader import Loaded, app_argument, load_app
from kairos.cli.database_option import DatabaseChoice, client, with_database
from kairos.cli.dev_key import dev_key
from kairos.cli.serve import on_socket
from kairos.cli.source_checkout import CHECKOUT
from kairos.cli.supervisor import ChildOptions, Supervisor
from kairos.cli.worker import Concurrency
from kairos.config import Settings, shown_url
from kairos.embedded import Server
from kairos.errors import ConfigError, KairosError
from kairos.extras import require
from kairos.logger import Logger
from kairos.machine.definition import Machine

log = Logger("kairos.cli")

# Shorter than a worker's default: a reload must not take half a minute.
_GRACE = 5.0
_HOST = "127.0.0.1"
_PORTS = 100  # how many are tried where none was asked for
_SAMPLES = {
    "string": "text",
    "integer": "1",
    "number": "1.5",
    "boolean": "true",
    "array": "[]",
    "object": "{}",
}


@with_database
def dev(
    database: DatabaseChoice,
    app: Annotated[str | None, app_argument("[APP]", "examples/")] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            metavar="PORT",
            help="Port of the API and the dashboard.",
            show_default="8765, or the next that is free",
        ),
    ] = None,
    reload: Annotated[bool, typer.Option(help="Restart the worker when a file of the app changes.")] = True,
    concurrency: Concurrency = defaults.CONCURRENCY,
    log_format: log_output.LogFormat = log_output.Format.TEXT,
    log_level: log_output.LogLevel = log_output.Level.INFO,
) -> None:
    """Run everything here: a real Postgres, its schema, the API, the dashboard, and a worker for the app."""
    require("server", "`kairos dev`")
    name = app or _examples()
    loaded = load_app(name, database)
    log_output.configure(log_format, log_level)
    log_output.log_successes()
    options = worker_process.WorkerOptions(concurrency=concurrency, grace=_GRACE)
    listening = listen(_HOST, load_service({"port": port}).port, tries=1 if port is not None else _PORTS)
    with listening, _database(loaded.settings) as url:
        _print_banner(loaded, url, address(_HOST, listening.getsockname()[1]), dev_key(loaded.settings))
        if reload:
            child = ChildOptions(
                name, options, log_format, log_level, reload=True, listening=listening.fileno()
            )
            code = worker_process.run(Supervisor(child, 1).run())
        else:
            code = worker_process.run(worker_process.serve(loaded, options, beside=on_socket(listening)))
    raise typer.Exit(worker_process.exit_if_stuck(code))


def _examples() -> str:
    for folder in (Path("examples"), CHECKOUT / "examples"):
        if folder.is_dir():
            return str(folder)
    raise ConfigError("Name the app to run: kairos dev module:app, or kairos dev path/to/file.py.")


@contextmanager
def _database(settings: Settings) -> Iterator[str]:
    """Yield the URL of a running, migrated database."""
    if settings.database_url is not None:
        kairos = client(settings)
        try:
            kairos.migrate()
        finally:
            kairos.close()
        yield settings.database_url
        return
    with Server(settings.data, watched=True) as server:  # stopped even if this process is killed
        with client(settings):  # brings the schema up
            pass
        ended = threading.Event()
        reviver = threading.Thread(target=_revive, args=(server, ended))
        reviver.start()
        try:
            yield server.url()
        finally:
            ended.set()
            reviver.join()


def _revive(server: Server, ended: threading.Event) -> None:
    """Restart Postgres if it dies, and keep its log short; the worker reconnects by itself."""
    while not ended.wait(1.0):
        try:
            if not server.is_alive():
                log.error("Postgres died and is started again", log=str(server.log))
                server.start()
            server.trim_log()
        except (KairosError, OSError) as error:  # tried again in a second
            log.error("Postgres does not start", error=str(error))


def _print_banner(loaded: Loaded, url: str, dashboard: str, key: str | None) -> None:
    machines = list(loaded.registry)
    output.say(f"Kairos runs {loaded.name}\n")
    output.facts(
        [
            ("actions", ", ".join(sorted({machine.name for machine in machines})) or "none yet"),
            ("queues", ", ".join(loaded.registry.queues)),
            ("database", shown_url(url)),
            ("dashboard", dashboard),
            ("key", key or "none needed here, until the first is made with `kairos keys add`"),
        ]
    )
    where = _database_option(loaded.settings)
    tries = [["jobs", "ls", *where]]
    if machines:
        tries.insert(0, ["enqueue", loaded.name, machines[0].name, *_sample(machines[0]), *where])
    output.say("\nIn another terminal:")
    for each in tries:
        output.say("  " + shlex.join([_program(), *each]))
    output.say("\nCtrl-C ends it.\n")
    sys.stdout.flush()


def _database_option(settings: Settings) -> list[str]:
    """Return the option that another command needs to use the same database, if any."""
    if settings.database_url is not None:
        return ["--database-url", shown_url(settings.database_url)]
    return [] if settings.data == Settings().data else ["--data", str(settings.data)]


def _sample(machine: Machine) -> list[str]:
    """Return sample arguments for a first try."""
    schema: dict[str, Any] = machine.state.json_schema()
    properties = schema.get("properties", {})
    return [
        f"{name}={_SAMPLES.get(properties[name].get('type'), '…')}" for name in schema.get("required", ())
    ]


def _program() -> str:
    """Return the name of this command as the user types it: `./kairos` in a clone."""
    script = CHECKOUT / "kairos"
    if Path(sys.prefix).parent != CHECKOUT or not script.is_file():
        return "kairos"
    return "./kairos" if Path.cwd() == CHECKOUT else str(script)
