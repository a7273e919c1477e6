"""Terminals, apps and folders for the tests of the command line."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.terminal import KAIROS, SHOP, Process, Terminal
from tests.data_directories import temporary_directory

from kairos import SyncKairos
from kairos.embedded.account import choose_account
from kairos.embedded.processes import live_processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_numbers = count(1)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to stand in, with a short path; a Postgres left running below it is ended."""
    folder = temporary_directory("kairos-c-")
    folder.chmod(0o755)
    monkeypatch.chdir(folder)
    for name in ("KAIROS_DATABASE_URL", "KAIROS_DATA", "KAIROS_APP"):
        monkeypatch.delenv(name, raising=False)
    yield folder
    for data in folder.rglob("postgres"):
        for process in live_processes(data, choose_account()) if data.is_dir() else ():
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
    shutil.rmtree(folder)


@pytest.fixture
def kairos(home: Path, database: str, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """The command, in this process, on a fresh database."""
    return Terminal(capsys, {"KAIROS_DATABASE_URL": database})


@pytest.fixture
def client(database: str) -> Iterator[SyncKairos]:
    """The same database for the test itself."""
    with SyncKairos(database) as client:
        yield client


@pytest.fixture
def shop(home: Path) -> Path:
    """The file of an app, under a name of its own: in one process, a module is loaded once."""
    file = home / f"shop_{next(_numbers)}.py"
    file.write_text(SHOP)
    return file


@pytest.fixture
def start(home: Path) -> Iterator[Callable[..., Process]]:
    """Start a command in a process of its own; those left over are killed."""
    processes: list[Process] = []

    def start(*arguments: object, program: Path = KAIROS, **environment: str) -> Process:
        processes.append(Process(home, {**os.environ, **environment}, *arguments, program=program))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        print(process.said)  # shown if the test failed
