"""Processes to be killed: forked from one that has imported everything, so that a new one is there at once."""

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
    """What every process to come has imported already."""
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
        """The exit code, once there is one."""
        return self._process.exitcode

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):  # it may have died by itself
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self._process.join()

    def keepers(self) -> list[int]:
        """The keepers of this worker that are up: asleep in `select`, which is all that a keeper does."""
        found = (pid for pid in _processes() if _parent(pid) == self.pid)
        return [
            pid for pid in found if "keeper.py" in _read(pid, "cmdline") and "poll" in _read(pid, "wchan")
        ]


def end_keepers(mark: str) -> None:
    """Kill the keepers whose environment has the mark: one that outlives its worker tries for long to hand back."""
    for pid in _processes():
        if "keeper.py" in _read(pid, "cmdline") and mark in _read(pid, "environ"):
            os.kill(pid, signal.SIGKILL)


def _processes() -> list[int]:
    return [int(each.name) for each in Path("/proc").glob("[0-9]*")]


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except OSError:
        return ""  # it is gone, or nobody's business


def _parent(pid: int) -> int:
    stat = _read(pid, "stat")
    return int(stat.rpartition(")")[2].split()[1]) if stat else 0
