"""A real service on a real port, on a fresh database, and a client for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from tests.api.serving import Served, Shared, serving, shared
from tests.emptied import database, kept_database

from kairos import Kairos
from kairos.api import ServiceSettings, build
from kairos.testing.plugin import with_database

__all__ = ["database", "kept_database"]


@pytest.fixture(scope="module")
def shared_database(kairos_admin: Any, kairos_server: str, kairos_template: str) -> Iterator[str]:
    """The URL of a migrated database for all tests of a module."""
    name = f"api_{uuid4().hex[:12]}"
    kairos_admin.execute(f"create database {name} template {kairos_template} strategy wal_log")
    yield with_database(kairos_server, name)
    kairos_admin.execute(f"drop database {name} with (force)")


@pytest.fixture(scope="module")
def open_service(shared_database: str) -> Iterator[Shared]:
    """One open service for all tests of a module, for tests that leave nothing behind that others mind."""
    with shared(shared_database, lambda kairos: build(kairos, ServiceSettings(open=True))) as running:
        yield running


@pytest.fixture
async def app(database: str) -> AsyncIterator[Kairos]:
    """The app that is served: register actions on it, or use its verbs."""
    async with Kairos(database) as app:
        yield app


@pytest.fixture
async def served(app: Kairos) -> AsyncIterator[Served]:
    """The service, open: everybody is the caller "local"."""
    async with serving(app, open=True) as served:
        yield served


@pytest.fixture
def http(served: Served) -> httpx2.AsyncClient:
    """A client of the open service."""
    return served.http


@pytest.fixture
def serve(app: Kairos) -> Callable[..., AbstractAsyncContextManager[Served]]:
    """Serve with other settings: `async with serve(open=False, body_limit=100) as served: …`."""

    @asynccontextmanager
    async def serve(**settings: Any) -> AsyncIterator[Served]:
        async with serving(app, **settings) as served:
            yield served

    return serve
