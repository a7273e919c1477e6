"""One real Postgres for the run, one fresh database for each test that asks for it.

`KAIROS_TEST_DATABASE_URL` names an existing server to use instead; its user must be able to create databases.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest

from kairos.embedded import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVER: pytest.StashKey[Server] = pytest.StashKey()
# A test database need not outlive a power cut.
SETTINGS = {"fsync": "off", "full_page_writes": "off", "max_wal_size": "2GB"}


def prepare_template(url: str) -> None:
    """Bring the database that every test's database is copied from to the current schema."""
    if importlib.util.find_spec("kairos.store.migrate") is None:
        return
    from kairos.store.migrate import migrate_sync

    with psycopg.connect(url, autocommit=True) as connection:
        migrate_sync(connection)


@pytest.fixture(scope="session")
def server_url(request: pytest.FixtureRequest) -> str:
    """The URL of the run's server; the same for every xdist worker."""
    workerinput = getattr(request.config, "workerinput", None)
    return workerinput["server_url"] if workerinput else _start_server(request.config)


@pytest.fixture(scope="session")
def admin(server_url: str) -> Iterator[psycopg.Connection]:
    """A connection to the run's server that may create and drop databases."""
    with psycopg.connect(server_url, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def template(admin: psycopg.Connection, server_url: str) -> Iterator[str]:
    """The name of this worker's migrated, empty database."""
    name = f"template_{uuid4().hex[:12]}"
    admin.execute(f"create database {name}")
    try:
        prepare_template(with_database(server_url, name))
        yield name
    finally:
        admin.execute(f"drop database {name} with (force)")


_numbers = count(1)


@pytest.fixture
def database(admin: psycopg.Connection, server_url: str, template: str) -> Iterator[str]:
    """The URL of a migrated database that nobody else uses, gone after the test."""
    name = f"{template.replace('template', 'test')}_{next(_numbers)}"
    # wal_log copies through shared buffers; file_copy would force two checkpoints of the whole server.
    admin.execute(f"create database {name} template {template} strategy wal_log")
    try:
        yield with_database(server_url, name)
    finally:
        admin.execute(f"drop database {name} with (force)")


def with_database(url: str, name: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/{name}" + (f"?{parts.query}" if parts.query else "")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """The controller of a parallel run owns the server and tells its workers where it is."""
    node.workerinput["server_url"] = _start_server(node.config)


def pytest_unconfigure(config: pytest.Config) -> None:
    if (server := config.stash.get(SERVER, None)) is not None:
        server.stop()


def _start_server(config: pytest.Config) -> str:
    if existing := os.environ.get("KAIROS_TEST_DATABASE_URL"):
        return existing
    if SERVER not in config.stash:
        data = Path(tempfile.mkdtemp(prefix="kairos-test-"))
        config.stash[SERVER] = Server(data, ephemeral=True, settings=SETTINGS)
        config.stash[SERVER].start()
    return config.stash[SERVER].url()
