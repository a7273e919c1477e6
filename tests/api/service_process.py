"""Runs the service with uvicorn in the test's own event loop, on a port that the system picks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import Any

import httpx2
import pytest

from kairos import Kairos, SyncKairos
from kairos.api import ServiceSettings, build
from kairos.api.app import Service
from kairos.api.server import Server, listen
from kairos.operations.keys import add_key


@dataclass
class Served:
    """A running service: its address, a client for it, and what it is made of."""

    url: str
    port: int
    http: httpx2.AsyncClient
    service: Service
    kairos: Kairos

    def as_key(self, token: str) -> httpx2.AsyncClient:
        """A client that sends a key; close it, or use it in `async with`."""
        return httpx2.AsyncClient(base_url=self.url, headers={"Authorization": f"Bearer {token}"})


@asynccontextmanager
async def serving(
    kairos: Kairos, *, service: Service | None = None, **settings: Any
) -> AsyncIterator[Served]:
    """The service of `kairos` for as long as the block lasts."""
    chosen = ServiceSettings(**{"port": 0, **settings})
    service = service or build(kairos, chosen)
    socket = listen(chosen.host, chosen.port)
    port = socket.getsockname()[1]
    server = Server(service, chosen)
    running = asyncio.create_task(server.run(socket))
    try:
        await server.wait_until_started()
        url = f"http://127.0.0.1:{port}"
        async with httpx2.AsyncClient(base_url=url, timeout=30) as http:
            yield Served(url, port, http, service, kairos)
    finally:
        server.stop()
        await running


@pytest.fixture
async def served(app: Kairos) -> AsyncIterator[Served]:
    """The service, open: everybody is the caller "local"."""
    async with serving(app, open=True) as served:
        yield served


@dataclass
class Shared:
    """A service that runs in a thread, for many tests, and a client that blocks."""

    url: str
    port: int
    http: httpx2.Client
    service: Service

    def keys(self, *scopes: str, **options: Any) -> str:
        """The token of a new key, made past the service."""
        with SyncKairos(self.service.state.kairos.settings.database_url) as kairos:
            return kairos.run(add_key("a test", scopes, **options))[1]

    def as_key(self, token: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {token}"}


@contextmanager
def shared(database: str, make: Callable[[Kairos], Service]) -> Iterator[Shared]:
    """The service that `make` builds, on an event loop of its own, for as long as the block lasts."""
    started: Future[tuple[Service, int, Callable[[], None]]] = Future()

    async def run() -> None:
        async with Kairos(database) as kairos:
            service = make(kairos)
            socket = listen("127.0.0.1", 0)
            server = Server(service, service.state.settings)
            loop = asyncio.get_running_loop()
            running = asyncio.create_task(server.run(socket))
            await server.wait_until_started()
            port = socket.getsockname()[1]
            started.set_result((service, port, lambda: loop.call_soon_threadsafe(server.stop)))  # type: ignore[arg-type, return-value]
            await running

    def main() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    thread = Thread(target=main)
    thread.start()
    service, port, stop = started.result(30)
    try:
        url = f"http://127.0.0.1:{port}"
        with httpx2.Client(base_url=url, timeout=30) as http:
            yield Shared(url, port, http, service)
    finally:
        stop()
        thread.join(30)
