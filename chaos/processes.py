"""Worker processes, forked from a server process that has imported everything, so that they start at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

_fork = multiprocessing.get_context("forkserver")


def preload(*modules: str) -> None:
    """Import modules in the server process, before the first fork."""
    _fork.set_forkserver_preload(list(modules))


class Forked:
    """One worker process."""

    def __init__(self, target: Callable[..., None], *args: Any) -> None:
        self._process = _fork.Process(target=target, args=args, daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code; None while the process runs."""
        return self._process.exitcode

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):  # it has ended
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self._process.join()

    def keepers(self) -> list[int]:
        """Return the keepers of this worker."""
        found = (pid for pid in _processes() if _parent(pid) == self.pid)
        return [pid for pid in found if "keeper.py" in _read(pid, "cmdline")]

    def waiting_keepers(self) -> list[int]:
        """Return the keepers that wait in `select` now, as each does first when it has started."""
        return [pid for pid in self.keepers() if "poll" in _read(pid, "wchan")]


def end_keepers(mark: str) -> None:
    """Kill the keepers whose environment has the mark: without a database they try for long to hand jobs back."""
    for pid in _processes():
        if "keeper.py" in _read(pid, "cmdline") and mark in _read(pid, "environ"):
            os.kill(pid, signal.SIGKILL)


def _processes() -> list[int]:
    return [int(each.name) for each in Path("/proc").glob("[0-9]*")]


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except OSError:
        return ""  # it has ended, or belongs to another user


def _parent(pid: int) -> int:
    stat = _read(pid, "stat")
    return int(stat.rpartition(")")[2].split()[1]) if stat else 0
