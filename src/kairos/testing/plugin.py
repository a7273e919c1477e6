"""The pytest plugin: a real Postgres for the run, a fresh migrated database for each test that asks for one.

Nothing of Kairos is imported until a fixture is used: plugins are loaded before coverage starts measuring.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from kairos.store.sync_store import SyncConnection

# A test database need not survive a power failure.
SETTINGS = {"fsync": "off", "full_page_writes": "off", "max_wal_size": "2GB"}

_numbers = count(1)
A = TypeVar("A")


@pytest.fixture(scope="session")
def kairos_server() -> Iterator[str]:
    """The URL of a Postgres server that ends with the run; override it to use one of your own."""
    from kairos.embedded import Server

    data = Path(tempfile.mkdtemp(prefix="kairos-test-"))
    with Server(data, ephemeral=True, settings=SETTINGS) as server:
        yield server.url()


@pytest.fixture(scope="session")
def kairos_admin(kairos_server: str) -> Iterator[SyncConnection]:
    """A connection that may create and drop databases."""
    from kairos.config import Settings
    from kairos.store.sync_store import SyncStore

    store = SyncStore(kairos_server, Settings())
    yield store.open()
    store.close()


@pytest.fixture(scope="session")
def kairos_template(kairos_admin: Any, kairos_server: str) -> Iterator[str]:
    """The name of a migrated, empty database, made once and copied for each test."""
    from kairos.config import Settings
    from kairos.store.sync_store import SyncStore
    from kairos.testing.clock import FOR_TESTS

    name = f"template_{uuid4().hex[:12]}"
    kairos_admin.execute(f"create database {name}")
    store = SyncStore(with_database(kairos_server, name), Settings())
    try:
        store.migrate()
        store.open().execute(f"comment on schema {Settings().schema} is '{FOR_TESTS}'")
        store.close()
        yield name
    finally:
        kairos_admin.execute(f"drop database {name} with (force)")


@pytest.fixture
def kairos_database(kairos_admin: Any, kairos_server: str, kairos_template: str) -> Iterator[str]:
    """The URL of a migrated database of the test's own, dropped after the test."""
    name = f"{kairos_template.replace('template', 'test')}_{next(_numbers)}"
    # wal_log copies through shared buffers; file_copy would force two checkpoints of the whole server.
    kairos_admin.execute(f"create database {name} template {kairos_template} strategy wal_log")
    try:
        yield with_database(kairos_server, name)
    finally:
        kairos_admin.execute(f"drop database {name} with (force)")


@pytest.fixture
def kairos_bind(kairos_database: str) -> Iterator[Callable[[A], A]]:
    """A function that points an app, async or sync, at the test's database until the test ends."""
    from kairos.testing.binding import bound

    with ExitStack() as stack:
        yield lambda app: stack.enter_context(bound(app, kairos_database))  # type: ignore[type-var]


def with_database(url: str, name: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/{name}" + (f"?{parts.query}" if parts.query else "")
