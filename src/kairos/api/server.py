"""Run the service on a socket until it is stopped."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from kairos.api.app import Service
from kairos.api.connection_limits import ConnectionLimits
from kairos.api.http_protocol import HttpProtocol
from kairos.api.settings import ServiceSettings
from kairos.api.sockets import listen

__all__ = ["Server", "listen"]

# Seconds that running requests may take once the service is stopping.
_GRACE = 10


class _Uvicorn(uvicorn.Server):
    """uvicorn without signal handlers: the command line handles signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers."""
        yield


class Server:
    """uvicorn with our protocol, without signal handlers, access log or Server header."""

    def __init__(self, app: Service, settings: ServiceSettings) -> None:
        limits = ConnectionLimits(
            settings.limit_concurrency, settings.connections_per_address, settings.trusted_proxies
        )
        config = uvicorn.Config(
            app,
            http=HttpProtocol.with_limits(settings.receive_timeout, settings.idle_timeout, limits),
            loop="none",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=list(settings.trusted_proxies),
            timeout_graceful_shutdown=_GRACE,
        )
        self._app = app
        self._uvicorn = _Uvicorn(config)
        self._is_over = False

    async def run(self, listening: socket.socket) -> None:
        """Serve until `stop`."""
        try:
            await self._uvicorn.serve(sockets=[listening])
        finally:
            self._is_over = True
            listening.close()
            await self._app.close()

    async def wait_until_started(self) -> None:
        while not self._uvicorn.started and not self._is_over:
            await asyncio.sleep(0.005)

    def stop(self) -> None:
        """Accept no more requests, and end when the running ones are answered."""
        self._app.stopping.set()
        self._uvicorn.should_exit = True
