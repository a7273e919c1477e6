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

# What to install, and the table that holds the jobs not yet done.
KNOWN = {"pgqueuer": (["pgqueuer[asyncpg]==1.6.0", "uvloop"], "pgqueuer")}


class Peer:
    """One peer: `bench.peers.NAME` run by a Python that has its package, on a database of its own."""

    def __init__(self, name: str, databases: Databases) -> None:
        self.name = name
        self._databases = databases
        self._folder = tempfile.TemporaryDirectory(prefix=f"bench-{name}-")
        packages, self._table = KNOWN[name]
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
        """Workers run and are warm; all jobs appear in one commit, timed from there until none is left."""
        self._child("fill", str(jobs)).finish()
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(f"create table aside as table {self._table}")
            connection.execute(f"truncate {self._table}")
            workers = started([self._child("work") for _ in range(processes)])
            for worker in workers:
                worker.go()
            self._child("fill", "1000").finish()
            self._empty(connection)
            connection.execute("checkpoint")
            with connection.transaction():
                connection.execute(f"insert into {self._table} overriding system value table aside")
                before = Cpu.of([worker.pid for worker in workers], self._databases.postmaster)
            began = time.monotonic()
            self._empty(connection)
            took = time.monotonic() - began
            used = Cpu.of([worker.pid for worker in workers], self._databases.postmaster) - before
            for worker in workers:
                worker.finish()
            connection.execute("drop table aside")
        self._child("install").finish()
        return Drained(jobs / took, used.workers / jobs * 1e6, used.postgres / jobs * 1e6)

    def _empty(self, connection: psycopg.Connection) -> None:
        while connection.execute(f"select exists (select from {self._table})").fetchone() == (True,):
            time.sleep(0.01)

    def _child(self, *command: str) -> Child:
        return Child(self._url, "-m", f"bench.peers.{self.name}", *command, program=self._python)
