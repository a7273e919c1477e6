"""One real Postgres for the whole run, also when it is spread over processes.

`KAIROS_TEST_DATABASE_URL` names an existing server to use instead; its user must be able to create databases.
Properties are tried on the same examples each time, so that a red run is about the change at hand;
`KAIROS_EXPLORE=1` looks for others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from tests.data_directories import temporary_directory

from kairos.testing.plugin import SETTINGS, kairos_admin, kairos_bind, kairos_database, kairos_template  # noqa: F401

if TYPE_CHECKING:
    from kairos.embedded import Server

SERVER: pytest.StashKey[Server] = pytest.StashKey()

settings.register_profile("kairos", derandomize="KAIROS_EXPLORE" not in os.environ)
settings.load_profile("kairos")


@pytest.fixture(scope="session")
def kairos_server(request: pytest.FixtureRequest) -> str:
    """The URL of the run's server; the same for every xdist worker."""
    workerinput = getattr(request.config, "workerinput", None)
    return workerinput["server_url"] if workerinput else _start_server(request.config)


@pytest.fixture
def server_url(kairos_server: str) -> str:
    return kairos_server


@pytest.fixture
def database(kairos_database: str) -> str:
    """The URL of a migrated database that nobody else uses."""
    return kairos_database


@pytest.fixture(autouse=True)
def environment_is_left_as_it_was() -> Iterator[None]:
    """A setting that one test leaves behind would change the tests after it."""
    before = _settings()
    yield
    assert _settings() == before


def _settings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("KAIROS_")}


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
        from kairos.embedded import Server

        data = temporary_directory("kairos-test-")
        config.stash[SERVER] = Server(data, ephemeral=True, settings=SETTINGS)
        config.stash[SERVER].start()
    return config.stash[SERVER].url()
