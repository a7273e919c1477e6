"""Data directories to run servers in."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.data_directories import temporary_directory
from tests.embedded.processes import FAST, User

from kairos.embedded import Server
from kairos.embedded.account import choose_account
from kairos.embedded.processes import live_processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def empty() -> Iterator[Path]:
    """A short path to a data directory that does not exist yet; whatever runs there is ended afterwards."""
    parent = temporary_directory("kairos-e-")
    parent.chmod(0o755)
    yield parent / "data"
    for data in parent.rglob("postgres"):
        for process in live_processes(data, choose_account()) if data.is_dir() else ():
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
    shutil.rmtree(parent)


@pytest.fixture(scope="session")
def made() -> Iterator[Path]:
    """A complete data directory whose server is stopped, to copy."""
    parent = temporary_directory("kairos-m-")
    with Server(parent / "data", settings=FAST):
        pass
    yield parent / "data"
    shutil.rmtree(parent)


@pytest.fixture
def data(made: Path, empty: Path) -> Path:
    """A data directory with a complete cluster, whose server is stopped."""
    shutil.copytree(made, empty)
    return empty


@pytest.fixture
def user() -> Iterator[Callable[..., User]]:
    """Start a process that uses a data directory; those left over are killed."""
    users: list[User] = []

    def start(*arguments: object, **options: object) -> User:
        users.append(User(*arguments, **options))  # type: ignore[arg-type]
        return users[-1]

    yield start
    for each in users:
        if each.process.returncode is None:
            each.kill()
