"""Other projects, each through its public API in a throwaway environment, measured in turns with Kairos."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType

import psycopg

from bench.database import Databases
from bench.drains import Drained, started
from bench.processes import Child, Cpu

# What to install, and how to ask whether any job is left.
KNOWN = {
    "pgqueuer": (["pgqueuer[asyncpg]==1.6.0", "uvloop"], "select exists (select from pgqueuer)"),
}


class Peer:
    """One peer: `bench.peers.NAME` run by a Python that has its package, on a database of its own."""

    def __init__(self, name: str, databases: Databases) -> None:
        self.name = name
        self._databases = databases
        self._folder = tempfile.TemporaryDirectory(prefix=f"bench-{name}-")
        packages, self._left = KNOWN[name]
        home = Path(self._folder.name)
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        self._python = home / "bin" / "python"
        subprocess.run([self._python, "-m", "pip", "install", "-q", *packages], check=True)
        self._url = databases.empty()
        self._child("install").finish()

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    def enqueue(self, kind: str, seconds: float) -> float:
        answer = self._child("enqueue", kind, str(seconds)).finish()
        self._child("install").finish()
        return answer["jobs"] / answer["seconds"]

    def drain(self, jobs: int, processes: int) -> Drained:
        """Timed from the word to begin until no job is left, which is looked at every 10 ms."""
        self._child("fill", str(jobs)).finish()
        workers = started([self._child("work") for _ in range(processes)])
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute("vacuum analyze")
            connection.execute("checkpoint")
            before = Cpu.of([worker.pid for worker in workers], self._databases.postmaster)
            began = time.monotonic()
            for worker in workers:
                worker.go()
            while connection.execute(self._left.encode()).fetchone() == (True,):
                time.sleep(0.01)
            took = time.monotonic() - began
        used = Cpu.of([worker.pid for worker in workers], self._databases.postmaster) - before
        for worker in workers:
            worker.finish()
        self._child("install").finish()
        return Drained(jobs / took, used.workers / jobs * 1e6, used.postgres / jobs * 1e6)

    def _child(self, *command: str) -> Child:
        return Child(self._url, "-m", f"bench.peers.{self.name}", *command, program=self._python)
