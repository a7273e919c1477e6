"""Workers in processes of their own, to be stopped, killed and replaced."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

from tests.worker.programs import hand
from tests.worker.world import until

# Forked from a process that has imported everything: a worker is there in milliseconds, and is real all the same.
_fork = multiprocessing.get_context("forkserver")
_fork.set_forkserver_preload(["tests.worker.programs.hand"])


class Hand:
    """One worker process."""

    def __init__(self, database: str, folder: Path, **settings: Any) -> None:
        self.process = _fork.Process(target=hand.main, args=(database, folder, settings), daemon=True)
        self.process.start()
        assert self.process.pid is not None
        self.pid = self.process.pid

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.process.join()

    @property
    def code(self) -> int | None:
        return self.process.exitcode

    def keepers(self) -> list[int]:
        """The keepers of this worker that are up."""
        found = (pid for pid in _processes() if _parent(pid) == self.pid)
        return [pid for pid in found if "keeper.py" in _read(pid, "cmdline") and _at_rest(pid)]


class Crew:
    """The workers of one test, their journal, and the app to enqueue through; nobody outlives the test."""

    def __init__(self, database: str, folder: Path) -> None:
        self.database = database
        self.folder = folder
        self.app = hand.build(database, folder)
        self.hands: list[Hand] = []

    def hire(self, **settings: Any) -> Hand:
        """Start a worker; it has to be waited for if that matters."""
        self.hands.append(Hand(self.database, self.folder, **{"poll": 0.1, **settings}))
        return self.hands[-1]

    async def ready(self, **settings: Any) -> Hand:
        """Start a worker and wait until it works and has its keeper."""
        new = self.hire(**settings)
        await until(lambda: self.events("ready", pid=new.pid) and new.keepers(), "a worker")
        return new

    def events(self, event: str | None = None, **like: Any) -> list[dict[str, Any]]:
        """What the journal has of an event."""
        wanted = like if event is None else {"e": event, **like}
        lines = map(json.loads, (self.folder / "journal").read_text().splitlines())
        return [line for line in lines if wanted.items() <= line.items()]

    async def inside(self, job_id: int, **like: Any) -> dict[str, Any]:
        """Wait until a step of the job has begun."""
        return (await until(lambda: self.events("begin", job=job_id, **like), f"job {job_id} begun"))[-1]

    def arm(self, failpoint: str) -> None:
        (self.folder / failpoint).touch()

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def dismiss(self) -> None:
        """End every worker and its keepers: one that outlived its worker would try for an hour to hand back."""
        for each in self.hands:
            if each.code is None:
                each.kill()
        for pid in _processes():
            if "keeper.py" in _read(pid, "cmdline") and f"{hand.FOLDER}={self.folder}" in _read(
                pid, "environ"
            ):
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


def _at_rest(pid: int) -> bool:
    """Whether the process waits in `select`, which is all that a keeper does once it is up."""
    return "poll" in _read(pid, "wchan")
