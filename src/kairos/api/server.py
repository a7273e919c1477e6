"""Runs the service on a socket, until it is told to stop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from kairos.api.app import Service
from kairos.api.listening import listen
from kairos.api.protocol import Protocol
from kairos.api.settings import ServiceSettings

__all__ = ["Server", "listen"]

# How long answers that are under way may take once the service is told to stop.
_GRACE = 10


class _Uvicorn(uvicorn.Server):
    """Signals are the command line's business, not the server's."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them as they are."""
        yield


class Server:
    """uvicorn with httptools, without signals, access log or a header that says what it is."""

    def __init__(self, app: Service, settings: ServiceSettings) -> None:
        config = uvicorn.Config(
            app,
            http=Protocol.limits(settings.receive_timeout, settings.limit_concurrency),
            loop="none",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=True,
            forwarded_allow_ips=list(settings.trusted_proxies),
            timeout_keep_alive=15,
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

    def stop(self, *, at_once: bool = False) -> None:
        """Take no more requests, and end when those under way are answered, or at once."""
        self._app.stopping.set()
        self._uvicorn.should_exit = True
        self._uvicorn.force_exit = at_once
