"""Other projects, each used through its public API in its own virtual environment, in turns with Kairos."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, TypeVar

import psycopg

from bench.database import Databases, Written, written
from bench.drains import Drained, started
from bench.processes import ROOT, Child, Cpu
from bench.redis import Redis

# Environments are made once and kept here, by what is installed in them.
CACHE = Path(os.environ.get("BENCH_CACHE", Path.home() / ".cache" / "kairos-bench"))
_PATIENCE = 120
P, T = ParamSpec("P"), TypeVar("T")
_COLUMNS = """
select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
where attrelid = %s::regclass and attnum > 0 and not attisdropped and attgenerated = ''
"""


@dataclass(frozen=True, slots=True)
class Known:
    """A peer: what to install, the table of its jobs, which of its rows have not ended, how to count ended jobs."""

    title: str
    packages: tuple[str, ...]
    table: str
    left: str = "true"
    node: bool = False
    ended: str | None = None  # counts the ended jobs that the peer keeps; None: it keeps none
    share: float = 1.0  # of the jobs of a drain: a slow peer shows its rate with fewer
    # Its jobs are rows of several tables: they are inserted before its workers start, instead of at once while workers
    # that are warmed up wait.
    waits: bool = False
    python: tuple[int, int] = (3, 11)  # the oldest Python that it runs on
    redis: bool = False


KNOWN = {
    "pgqueuer": Known(
        "pgqueuer 1.6",
        ("pgqueuer[asyncpg]==1.6.0", "uvloop"),
        "pgqueuer",
        ended="select count(*) from pgqueuer_log where status = 'successful'",
    ),
    "procrastinate": Known(
        "procrastinate 3",
        ("procrastinate==3.*", "psycopg[binary,pool]", "uvloop"),
        "procrastinate_jobs",
        "status in ('todo', 'doing')",
        ended="select count(*) from procrastinate_jobs where status = 'succeeded'",
        share=0.05,
    ),
    "dbos": Known(
        "dbos 3.3",
        ("dbos==3.3.*",),
        "dbos.workflow_status",
        "status in ('ENQUEUED', 'PENDING')",
        ended="select count(*) from dbos.workflow_status where status = 'SUCCESS'",
        share=0.05,
        waits=True,
    ),
    "oban": Known(
        "oban for Python 0.7",
        ("oban==0.7.*",),
        "oban_jobs",
        "state in ('available', 'executing', 'scheduled', 'retryable')",
        ended="select count(*) from oban_jobs where state = 'completed'",
        share=0.1,
        waits=True,
        python=(3, 12),
    ),
    "absurd-sdk": Known(
        "absurd 0.5",
        ("absurd-sdk==0.5.*", "absurdctl==0.5.*"),
        "absurd.t_bench",
        "state in ('pending', 'running', 'sleeping')",
        ended="select count(*) from absurd.t_bench where state = 'completed'",
        share=0.05,
        waits=True,
    ),
    "chancy": Known(
        "chancy 0.26",
        ("chancy==0.26.*",),
        "chancy_jobs",
        "state in ('pending', 'running', 'retrying')",
        ended="select count(*) from chancy_jobs where state = 'succeeded'",
        share=0.1,
        waits=True,
    ),
    "celery": Known(
        "celery 5 with Redis (nothing flushed to disk)",
        ("celery[redis]==5.*",),
        "",
        share=0.05,
        redis=True,
    ),
    "graphile-worker": Known(
        "graphile-worker (Node, keeps nothing)",
        ("graphile-worker", "pg"),
        "graphile_worker._private_jobs",
        node=True,
    ),
    "pg-boss": Known(
        "pg-boss (Node)",
        ("pg-boss@^10",),
        "pgboss.job",
        "state < 'completed'",
        node=True,
        ended="select count(*) from pgboss.job where state = 'completed'",
    ),
}


class Peer:
    """One peer: its program in `bench/peers/`, run where its package is installed, on a database of its own."""

    def __init__(self, name: str, databases: Databases) -> None:
        self.name = name
        self._databases = databases
        self._known = KNOWN[name]
        self._module = name.replace("-", "_")
        self._program, self._command = _environment(name, self._known)
        self._redis = Redis(CACHE) if self._known.redis else None
        self._url = "" if self._redis else databases.empty(self._module)
        self._child("install").finish()

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing: the environment is kept, and the database ends with its server."""
        if self._redis is not None:
            self._redis.stop()

    def tried(self, measure: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Measure; if that fails print why and return None, so that the other peers are still measured."""
        try:
            return measure(*args, **kwargs)
        except Exception:  # noqa: BLE001 (whatever is wrong with a peer)
            traceback.print_exc()
            return None

    def enqueue(self, kind: str, seconds: float) -> float:
        answer = self._child("enqueue", kind, str(seconds)).finish()
        self._child("install").finish()
        return answer["jobs"] / answer["seconds"]

    def drain(self, jobs: int, processes: int) -> Drained:
        """Warm up the workers, insert all jobs in one commit, and time from there until none is left."""
        jobs = max(1000, int(jobs * self._known.share) // 1000 * 1000)
        self._child("fill", str(jobs)).finish()
        if self._redis is not None:
            return self._drain_redis(self._redis, jobs, processes)
        if self._known.waits:
            return self._drain_filled(jobs, processes)
        table = self._known.table
        with psycopg.connect(self._url, autocommit=True) as connection:
            columns = connection.execute(_COLUMNS, (table,)).fetchone()[0]  # type: ignore[index]
            connection.execute(f"create table aside as select {columns} from {table}")
            connection.execute(f"truncate {table} cascade")
            workers = started([self._child("work") for _ in range(processes)])
            for worker in workers:
                worker.go()
            self._child("fill", "1000").finish()
            self._empty(connection)
            before_ended = self._ended(connection)
            connection.execute("checkpoint")
            with connection.transaction():
                connection.execute(
                    f"insert into {table} ({columns}) overriding system value select * from aside"
                )
                connection.execute(f"analyze {table}")
                before = written(connection), self._cpu(workers)
            drained = self._timed(connection, workers, jobs, before, before_ended)
            connection.execute("drop table aside")
        self._child("install").finish()
        return drained

    def _drain_filled(self, jobs: int, processes: int) -> Drained:
        """Time the jobs that exist already, from the start of the workers until none is left."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute("checkpoint")
            workers = started([self._child("work") for _ in range(processes)])
            before, ended = (written(connection), self._cpu(workers)), self._ended(connection)
            for worker in workers:
                worker.go()
            drained = self._timed(connection, workers, jobs, before, ended)
        self._child("install").finish()
        return drained

    def _drain_redis(self, redis: Redis, jobs: int, processes: int) -> Drained:
        """Time the jobs that exist in Redis already, with its CPU in place of that of Postgres; check no ended jobs."""
        workers = started([self._child("work") for _ in range(processes)])
        pids = [worker.pid for worker in workers]
        before, began = Cpu.of(pids, redis.pid), time.monotonic()
        for worker in workers:
            worker.go()
        while redis.number("LLEN", "bench") + redis.number("HLEN", "unacked"):
            if time.monotonic() - began > _PATIENCE:
                raise RuntimeError(f"the jobs of {self.name} did not end within {_PATIENCE} s")
            time.sleep(0.01)
        took, used = time.monotonic() - began, Cpu.of(pids, redis.pid) - before
        for worker in workers:
            worker.end()
        return Drained(jobs / took, used.workers / jobs * 1e6, used.postgres / jobs * 1e6)

    def _timed(
        self,
        connection: psycopg.Connection,
        workers: list[Child],
        jobs: int,
        before: tuple[Written, Cpu],
        ended: int,
    ) -> Drained:
        began = time.monotonic()
        self._empty(connection)
        took = time.monotonic() - began
        used, wrote = self._cpu(workers) - before[1], written(connection) - before[0]
        self._check(connection, jobs, ended)
        for worker in workers:
            worker.end()
        return Drained(
            jobs / took,
            used.workers / jobs * 1e6,
            used.postgres / jobs * 1e6,
            wal_bytes=wrote.wal_bytes / jobs,
            commits=wrote.commits / jobs,
        )

    def _cpu(self, workers: list[Child]) -> Cpu:
        return Cpu.of([worker.pid for worker in workers], self._databases.postmaster)

    def _check(self, connection: psycopg.Connection, jobs: int, before: int) -> None:
        """Raise unless the peer recorded every job as ended, if it keeps such records."""
        deadline = time.monotonic() + 10
        while self._known.ended is not None and self._ended(connection) - before < jobs:
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"{self.name} recorded {self._ended(connection) - before} of {jobs} jobs as ended"
                )
            time.sleep(0.1)

    def _ended(self, connection: psycopg.Connection) -> int:
        if self._known.ended is None:
            return 0
        found = connection.execute(self._known.ended.encode()).fetchone()
        return int(found[0]) if found else 0

    def _empty(self, connection: psycopg.Connection) -> None:
        left = f"select exists (select from {self._known.table} where {self._known.left})"
        deadline = time.monotonic() + _PATIENCE
        while connection.execute(left.encode()).fetchone() == (True,):
            if time.monotonic() > deadline:
                raise RuntimeError(f"the jobs of {self.name} did not end within {_PATIENCE} s")
            time.sleep(0.01)

    def _child(self, *command: str) -> Child:
        more = {"BENCH_REDIS_URL": self._redis.url} if self._redis is not None else {}
        return Child(self._url, *self._command, *command, program=self._program, environment=more)


def _environment(name: str, known: Known) -> tuple[Path | str, tuple[str, ...]]:
    """Return the program that runs the peer, and its first arguments; install it on first use."""
    mark = sha256(" ".join(known.packages).encode()).hexdigest()[:12]
    home = CACHE / f"{name}-{mark}"
    done = home / "installed"
    module = name.replace("-", "_")
    if known.node:
        if not done.exists():
            home.mkdir(parents=True, exist_ok=True)
            install = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(home), *known.packages]
            subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
            done.touch()
        script = home / f"{module}.mjs"  # beside its packages, where Node looks for them
        script.write_text((ROOT / "bench" / "peers" / f"{module}.mjs").read_text())
        return "node", (str(script),)
    python = home / "bin" / "python"
    if not done.exists():
        subprocess.run([_python(known.python), "-m", "venv", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *known.packages], check=True)
        done.touch()
    return python, ("-m", f"bench.peers.{module}")


def _python(least: tuple[int, int]) -> str | Path:
    """Return a Python that is new enough: this one, one on the PATH, or one installed beside this one."""
    if sys.version_info >= least:
        return sys.executable
    minors = range(least[1], least[1] + 5)
    named = [found for minor in minors if (found := shutil.which(f"python{least[0]}.{minor}"))]
    beside = [
        each
        for minor in minors
        for each in Path(sys.base_prefix).parent.glob(f"{least[0]}.{minor}*/bin/python3")
    ]
    for program in (*named, *beside):
        if subprocess.run([program, "-c", ""], capture_output=True, check=False).returncode == 0:
            return program
    raise RuntimeError(f"it needs Python {least[0]}.{least[1]}, and there is none here")
