"""`kairos serve`: the HTTP service and the dashboard, until a signal."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Annotated

import typer

from kairos.api import ServiceSettings, load_service
from kairos.api.sockets import address, listen
from kairos.app import Kairos
from kairos.cli import log_output, worker_process
from kairos.cli.app_loader import Loaded, OptionalApp, load_app
from kairos.cli.database_option import DatabaseChoice, with_database
from kairos.config import Settings
from kairos.errors import ConfigError
from kairos.extras import require
from kairos.logger import Logger
from kairos.operations.keys import any_key
from kairos.operations.machines import register

log = Logger("kairos.cli")

Port = Annotated[
    int | None, typer.Option(min=0, max=65535, metavar="PORT", help="Port to listen on.", show_default="8765")
]


@with_database
def serve(
    database: DatabaseChoice,
    app: OptionalApp = None,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Address to listen on; one that others can reach needs a key first.",
            show_default="127.0.0.1",
        ),
    ] = None,
    port: Port = None,
    log_format: log_output.LogFormat = log_output.Format.TEXT,
    log_level: log_output.LogLevel = log_output.Level.INFO,
) -> None:
    """Serve the API and the dashboard until a signal; it runs no jobs, and reads machines from the database."""
    require("server", "`kairos serve`")
    settings = load_service({"host": host, "port": port})
    loaded = without_app(database.settings()) if app is None else load_app(app, database)
    log_output.configure(log_format, log_level)
    listening = listen(settings.host, settings.port)
    raise typer.Exit(worker_process.exit_if_stuck(worker_process.run(_serve(loaded, settings, listening))))


def without_app(settings: Settings) -> Loaded:
    """Return an app without machines of its own."""
    kairos = Kairos(settings.database_url, **settings.others)
    return Loaded("kairos", (kairos,), kairos.registry, kairos.settings)


async def _serve(loaded: Loaded, settings: ServiceSettings, listening: socket.socket) -> int:
    stop = worker_process.Stop()
    stop.listen()
    async with AsyncExitStack() as stack:
        kairos = await worker_process.open_all(loaded, stack)
        await kairos.run(register(kairos.registry))
        await stack.enter_async_context(served(kairos, settings, listening))
        await stop.wait()
    return stop.code


def on_socket(listening: socket.socket) -> worker_process.Beside:
    """Return the service on an already bound socket, to run beside a worker."""
    host, port = listening.getsockname()[:2]
    return lambda kairos: served(kairos, load_service({"host": host, "port": port}), listening)


@asynccontextmanager
async def served(kairos: Kairos, settings: ServiceSettings, listening: socket.socket) -> AsyncIterator[None]:
    """Run the service of an open app for the length of the block."""
    # Imported here, because it takes half a second that other commands need not spend.
    from kairos.api.app import build
    from kairos.api.server import Server

    server = Server(build(kairos, await _open_access_if_allowed(kairos, settings)), settings)
    running = asyncio.create_task(server.run(listening))
    await server.wait_until_started()
    if running.done():
        await running  # it did not start: raise its error
    log.info("serving", url=address(settings.host, listening.getsockname()[1]))
    try:
        yield
    finally:
        server.stop()
        await running


async def _open_access_if_allowed(kairos: Kairos, settings: ServiceSettings) -> ServiceSettings:
    """Allow access without a key on loopback while there are no keys; refuse other addresses without keys."""
    has_keys = await kairos.run(any_key())
    if settings.is_loopback:
        if not has_keys:
            log.warning(
                "access is open to all users of this machine until the first key is made: kairos keys add"
            )
        return replace(settings, open=True)
    if not has_keys:
        raise ConfigError(
            f"Others can reach {settings.host}, and the database has no keys: "
            "make one with `kairos keys add`, or serve on 127.0.0.1."
        )
    return settings
