"""`kairos dev`: everything at once, on this machine, while the app is being written."""

from __future__ import annotations

import shlex
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import structlog
import typer

from kairos.api import load_service
from kairos.api.listening import address, listen
from kairos.cli import logs, serve, tables
from kairos.cli.dev_key import dev_key
from kairos.cli.load import Loaded, load_app
from kairos.cli.place import Data, DatabaseUrl, client
from kairos.cli.service import on_socket
from kairos.cli.supervisor import Order, Supervisor
from kairos.cli.work import CLONE, Concurrency
from kairos.config import Settings
from kairos.embedded import Server
from kairos.errors import ConfigError, KairosError
from kairos.machine.definition import Machine

log = structlog.get_logger("kairos.cli")

# Shorter than a worker's: nobody waits half a minute for a reload.
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


def dev(
    ctx: typer.Context,
    app: Annotated[
        str | None,
        typer.Argument(
            metavar="[APP]",
            envvar="KAIROS_APP",
            show_default="examples/",
            help="module:app, path/to/file.py, path/to/file.py:app or a folder of such files.",
        ),
    ] = None,
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
    reload: Annotated[bool, typer.Option(help="Start afresh when a file of the app changes.")] = True,
    concurrency: Concurrency = 20,
    database_url: DatabaseUrl = None,
    data: Data = None,
    log_format: logs.LogFormat = logs.Format.TEXT,
) -> None:
    """Run everything here: a real Postgres, its schema, the API, the dashboard, and a worker for the app."""
    name = app or _examples()
    loaded = load_app(name, ctx.obj.or_rather(database_url, data))
    logs.configure(log_format)
    options = serve.WorkerOptions(concurrency=concurrency, grace=_GRACE)
    listening = listen(_HOST, load_service({"port": port}).port, tries=1 if port is not None else _PORTS)
    with listening, _database(loaded.settings) as url:
        _welcome(loaded, url, address(_HOST, listening.getsockname()[1]), dev_key(loaded.settings))
        if reload:
            order = Order(name, options, log_format, reload=True, listening=listening.fileno())
            code = serve.run(_supervise(order))
        else:
            code = serve.run(serve.serve(loaded, options, beside=on_socket(listening)))
    raise typer.Exit(serve.leave(code))


async def _supervise(order: Order) -> int:
    return await Supervisor(order, 1).run()


def _examples() -> str:
    for folder in (Path("examples"), CLONE / "examples"):
        if folder.is_dir():
            return str(folder)
    raise ConfigError("Name the app to run: kairos dev module:app, or kairos dev path/to/file.py.")


@contextmanager
def _database(settings: Settings) -> Iterator[str]:
    """The URL of a database that is there and up to date, for as long as the block lasts."""
    if settings.database_url is not None:
        kairos = client(settings)
        try:
            kairos.migrate()
        finally:
            kairos.close()
        yield settings.database_url
        return
    with Server(settings.data, watched=True) as server:  # however this ends, nothing is left running
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
    """Bring Postgres back if it dies; the worker finds it again by itself. Its log is kept short meanwhile."""
    while not ended.wait(1.0):
        try:
            if not server.is_alive():
                log.error("Postgres died and is started again", log=str(server.log))
                server.start()
            server.trim_log()
        except (KairosError, OSError) as error:  # tried again in a second
            log.error("Postgres does not start", error=str(error))


def _welcome(loaded: Loaded, url: str, dashboard: str, key: str | None) -> None:
    machines = list(loaded.registry)
    tables.say(f"Kairos runs {loaded.name}\n")
    tables.facts(
        [
            ("actions", ", ".join(sorted({machine.name for machine in machines})) or "none yet"),
            ("queues", ", ".join(sorted({machine.queue for machine in machines} | {"default"}))),
            ("database", _without_password(url)),
            ("dashboard", dashboard),
            ("key", key or "none needed here, until the first is made with `kairos keys add`"),
        ]
    )
    where = _where(loaded.settings)
    tries = [["jobs", "ls", *where]]
    if machines:
        tries.insert(0, ["enqueue", loaded.name, machines[0].name, *_sample(machines[0]), *where])
    tables.say("\nIn another terminal:")
    for each in tries:
        tables.say("  " + shlex.join([_program(), *each]))
    tables.say("\nCtrl-C ends it.\n")
    sys.stdout.flush()


def _where(settings: Settings) -> list[str]:
    """The option by which another command finds the same database, if it needs one."""
    if settings.database_url is not None:
        return ["--database-url", _without_password(settings.database_url)]
    return [] if settings.data == Settings().data else ["--data", str(settings.data)]


def _sample(machine: Machine) -> list[str]:
    """Arguments that would do, for the first try."""
    schema: dict[str, Any] = machine.state.json_schema()
    properties = schema.get("properties", {})
    return [
        f"{name}={_SAMPLES.get(properties[name].get('type'), '…')}" for name in schema.get("required", ())
    ]


def _program() -> str:
    """How this command is called: by the script of the clone, if that is where it runs."""
    script = CLONE / "kairos"
    if Path(sys.prefix).parent != CLONE or not script.is_file():
        return "kairos"
    return "./kairos" if Path.cwd() == CLONE else str(script)


def _without_password(url: str) -> str:
    password = urlsplit(url).password
    return url if not password else url.replace(f":{password}@", ":***@", 1)
