"""`kairos serve`: the HTTP service and the dashboard, until a signal."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Annotated

import structlog
import typer

from kairos.api import ServiceSettings, load_service
from kairos.api.listening import address, listen
from kairos.app import Kairos
from kairos.cli import logs, serve
from kairos.cli.load import Loaded, OptionalApp, load_app
from kairos.cli.place import Data, DatabaseUrl
from kairos.config import Settings
from kairos.errors import ConfigError
from kairos.verbs.keys import any_key
from kairos.verbs.machines import register

log = structlog.get_logger("kairos.cli")

Port = Annotated[
    int | None, typer.Option(min=0, max=65535, metavar="PORT", help="Port to listen on.", show_default="8765")
]


def serve_http(
    ctx: typer.Context,
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
    database_url: DatabaseUrl = None,
    data: Data = None,
    log_format: logs.LogFormat = logs.Format.TEXT,
) -> None:
    """Serve the API and the dashboard until a signal; it runs no jobs, and knows the machines of its workers."""
    settings = load_service({"host": host, "port": port})
    place = ctx.obj.or_rather(database_url, data)
    loaded = without_app(place.settings()) if app is None else load_app(app, place)
    logs.configure(log_format)
    listening = listen(settings.host, settings.port)
    raise typer.Exit(serve.leave(serve.run(_serve(loaded, settings, listening))))


def without_app(settings: Settings) -> Loaded:
    """An app with no machines of its own, on the database that the settings name."""
    kairos = Kairos(settings.database_url, **settings.others)
    return Loaded("kairos", (kairos,), kairos.registry, kairos.settings)


async def _serve(loaded: Loaded, settings: ServiceSettings, listening: socket.socket) -> int:
    stop = serve.Stop()
    stop.listen()
    async with AsyncExitStack() as stack:
        kairos = await serve.open_all(loaded, stack)
        await kairos.run(register(kairos.registry))
        await stack.enter_async_context(served(kairos, settings, listening))
        await stop.wait()
    return stop.code


def on_socket(listening: socket.socket) -> serve.Beside:
    """The service on a socket that somebody else bound, to run beside a worker."""
    host, port = listening.getsockname()[:2]
    return lambda kairos: served(kairos, load_service({"host": host, "port": port}), listening)


@asynccontextmanager
async def served(kairos: Kairos, settings: ServiceSettings, listening: socket.socket) -> AsyncIterator[None]:
    """The service of an open app, for as long as the block lasts."""
    # Imported here: half a second that no other command need pay.
    from kairos.api.app import build
    from kairos.api.server import Server

    server = Server(build(kairos, await _let_in(kairos, settings)), settings)
    running = asyncio.create_task(server.run(listening))
    await server.wait_until_started()
    if running.done():
        await running  # it did not start: say why
    log.info("serving", url=address(settings.host, listening.getsockname()[1]))
    try:
        yield
    finally:
        server.stop()
        await running


async def _let_in(kairos: Kairos, settings: ServiceSettings) -> ServiceSettings:
    """Open to this machine while there are no keys; never to others."""
    has_keys = await kairos.run(any_key())
    if settings.is_loopback:
        if not has_keys:
            log.warning("access is open to everybody on this machine, until the first key: kairos keys add")
        return replace(settings, open=True)
    if not has_keys:
        raise ConfigError(
            f"Others can reach {settings.host}, and the database has no keys: "
            "make one with `kairos keys add`, or serve on 127.0.0.1."
        )
    return settings
