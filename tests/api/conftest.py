"""A real service on a real port, on a fresh database, and a client for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
import pytest
from tests.api.service_process import Served, Shared, served, serving, shared
from tests.shared_database import app, database, kept_database, migrated_database

from kairos import Kairos
from kairos.api import ServiceSettings, build

__all__ = ["app", "database", "kept_database", "served"]


@pytest.fixture(scope="module")
def shared_database(kairos_admin: Any, kairos_server: str, kairos_template: str) -> Iterator[str]:
    """The URL of a migrated database for all tests of a module."""
    with migrated_database(kairos_admin, kairos_server, kairos_template) as url:
        yield url


@pytest.fixture(scope="module")
def open_service(shared_database: str) -> Iterator[Shared]:
    """One open service for all tests of a module, for tests that leave nothing behind that others mind."""
    with shared(shared_database, lambda kairos: build(kairos, ServiceSettings(open=True))) as running:
        yield running


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
