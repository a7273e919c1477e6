"""One real Postgres for the whole run, also when it is spread over processes.

`KAIROS_TEST_DATABASE_URL` names an existing server to use instead; its user must be able to create databases.
Properties are tried on the same examples each time, so that a red run is about the change at hand;
`KAIROS_EXPLORE=1` looks for others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from tests.data_directories import temporary_directory

from kairos.testing.plugin import SETTINGS, kairos_admin, kairos_bind, kairos_database, kairos_template  # noqa: F401

if TYPE_CHECKING:
    from kairos.embedded import Server

SERVER: pytest.StashKey[Server] = pytest.StashKey()
MEASURED = "COVERAGE_PROCESS_CONFIG"  # by which coverage tells the processes to come that they are measured
# Folders whose tests wait for processes, leases and browsers begin first: nobody shall be alone with one at the end.
SLOW = ("cluster", "clusters", "dashboard", "docs", "examples", "faults")
# The processes that these start are not measured: that costs half as much again, and other tests cover the same lines.
UNMEASURED = ("cluster", "dashboard", "docs", "examples", "faults")

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take the first file of each slow folder, then the second ones: what waits runs beside what computes."""
    files: dict[Path, dict[Path, int]] = {}
    for item in items:
        folder = files.setdefault(item.path.parent, {})
        folder.setdefault(item.path, len(folder))
    items.sort(key=lambda item: (item.path.parent.name not in SLOW, files[item.path.parent][item.path]))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture, so that it holds for processes that several tests share, too."""
    if (how := _measured()) is not None:
        os.environ.pop(MEASURED, None)
        os.environ.update({} if item.path.parent.name in UNMEASURED else {MEASURED: how})


@cache
def _measured() -> str | None:
    """How coverage wants processes to be measured, as it said before the first test; None without coverage."""
    return os.environ.get(MEASURED)


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
