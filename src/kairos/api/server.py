"""Run the service on a socket until it is stopped."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn

from kairos.api.app import Service
from kairos.api.connection_limits import ConnectionLimits
from kairos.api.fair_turns import FairTurns
from kairos.api.http_protocol import HttpProtocol
from kairos.api.settings import ServiceSettings
from kairos.api.sockets import listen

__all__ = ["Server", "listen"]

# Seconds that running requests may take once the service is stopping.
_GRACE = 10


# Seconds between two renewals of the Date header.
_TICK = 1.0


class _Uvicorn(uvicorn.Server):
    """uvicorn without signal handlers, since the command line handles signals, that stops as soon as it is asked."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        self.should_exit = True
        self._stopping.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers."""
        yield

    async def main_loop(self) -> None:
        """Wait for the event where uvicorn looks ten times a second whether it should exit."""
        while not await self.on_tick(0):  # 0: each tick renews the header
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), _TICK)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close what listens, and wait for connections, which uvicorn does in steps of 0.1 s, only if there are any."""
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
            return
        for server in self.servers:
            server.close()
        for listening in sockets or []:
            listening.close()


class Server:
    """uvicorn with our protocol, without signal handlers, access log or Server header."""

    def __init__(self, app: Service, settings: ServiceSettings) -> None:
        limits = ConnectionLimits(
            settings.limit_concurrency, settings.connections_per_address, settings.trusted_proxies
        )
        config = uvicorn.Config(
            FairTurns(app, settings.limit_concurrency),
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
        self._uvicorn.stop()
