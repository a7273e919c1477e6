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
# Folders whose tests wait for processes, leases and browsers. After each of their files come so many that compute: both
# go on side by side, and those that wait end well before the others, so that nobody is alone with one at the end.
COMPUTING = 3
SLOW = ("cluster", "clusters", "dashboard", "docs", "examples", "faults")
# The processes that these start are not measured: that costs half as much again, and other tests cover the same lines.
# `KEEPERS` start no processes but keepers, whose start takes twice as long when it is measured.
KEEPERS = ("alarms", "boundaries", "interleavings", "partition_keys", "spec_flaws", "stats")
UNMEASURED = (*KEEPERS, "cluster", "dashboard", "docs", "examples", "faults")

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
    """Take the first file of each folder, then the second ones, and slow files among quick ones."""
    folders: dict[Path, list[Path]] = {}
    for path in dict.fromkeys(item.path for item in items):
        folders.setdefault(path.parent, []).append(path)
    in_turn = sorted((number, path) for files in folders.values() for number, path in enumerate(files))
    slow = [path for _, path in in_turn if path.parent.name in SLOW]
    quick = [path for _, path in in_turn if path.parent.name not in SLOW]
    place = {path: number * COMPUTING for number, path in enumerate(slow)}
    place |= {path: number for number, path in enumerate(quick)}
    items.sort(key=lambda item: (place[item.path], item.path.parent.name not in SLOW, item.path))


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
