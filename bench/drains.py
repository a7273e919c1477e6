"""Measure drains: running workers execute a batch of jobs, timed by the database's clock up to the last commit."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from bench import floor
from bench.database import Database, Databases, Written
from bench.processes import Child, Cpu
from bench.worker_actions import LINE, QUEUE, STEPS

CONCURRENCY = 100
WARM_UP = 500


@dataclass(frozen=True, slots=True)
class Drained:
    """The figures of one drain.

    `rate` is in jobs a second, `line` too, but of the key whose jobs run one by one meanwhile. The others are for each
    job: CPU in µs of the workers and of Postgres, bytes of WAL, transactions that wrote.
    """

    rate: float
    worker_us: float
    postgres_us: float
    line: float = 0.0
    wal_bytes: float = 0.0
    commits: float = 0.0


def kairos_workers(url: str, processes: int, concurrency: int = CONCURRENCY) -> list[Child]:
    return started([Child(url, "-m", "bench.worker", str(concurrency)) for _ in range(processes)])


def floor_workers(url: str, processes: int) -> list[Child]:
    return started([Child(url, "-m", "bench.floor", "work") for _ in range(processes)])


def started(children: list[Child]) -> list[Child]:
    """Return the processes once all of them are ready."""
    return [child.ready() for child in children]


def drain_kairos(
    databases: Databases, backlog: str, jobs: int, processes: int, *, action: str = "noop", step: str = "run"
) -> Drained:
    """Add jobs to a paused queue, and time them from its resume."""
    database = databases.get(backlog)
    workers = kairos_workers(database.url, processes)
    try:
        last = database.add(count=WARM_UP)
        database.hint()
        wait_for(database, last)
        database.pause()
        last = database.add(count=jobs, fsm=action, step=step)
        database.settle()
        before = Cpu.of([worker.pid for worker in workers], databases.postmaster)
        written = database.written()
        began = database.resume()
        return _drained(databases, database, last, jobs, began, before, written, workers)
    finally:
        database.resume()
        _end(database, backlog, workers)


def drain_floor(databases: Databases, jobs: int, processes: int) -> Drained:
    database = databases.get()
    workers = floor_workers(database.url, processes)
    try:
        database.run(floor.FILL, (QUEUE, jobs))
        database.run("vacuum (analyze) floor.jobs")
        database.run("checkpoint")
        before = Cpu.of([worker.pid for worker in workers], databases.postmaster)
        began, written = database.value("select clock_timestamp()"), database.written()
        for worker in workers:
            worker.go()
        wait_for_floor(database)
        used = Cpu.of([worker.pid for worker in workers], databases.postmaster) - before
        ended = database.value("select max(done_at) from floor.jobs")
        rate = jobs / (ended - began).total_seconds()
        wrote = database.written() - written
        return Drained(
            rate,
            used.workers / jobs * 1e6,
            used.postgres / jobs * 1e6,
            wal_bytes=wrote.wal_bytes / jobs,
            commits=wrote.commits / jobs,
        )
    finally:
        _end(database, "none", workers)


def wait_for_floor(database: Database, timeout: float = 120) -> None:
    deadline = time.monotonic() + timeout
    while database.value("select exists (select from floor.jobs where done_at is null)"):
        if time.monotonic() > deadline:
            raise RuntimeError(f"the jobs of the floor did not end within {timeout:g} s")
        time.sleep(0.05)


def steps(databases: Databases, backlog: str, machines: int) -> float:
    """Return how many steps a second one worker executes of machines of ten steps."""
    return STEPS * drain_kairos(databases, backlog, machines, 1, action="ten", step="go").rate


def _drained(
    databases: Databases,
    database: Database,
    last: int,
    jobs: int,
    began: Any,
    before: Cpu,
    written: Written,
    workers: list[Child],
) -> Drained:
    wait_for(database, last)
    wrote = database.written() - written
    used = Cpu.of([worker.pid for worker in workers], databases.postmaster) - before
    ended = database.value("select max(completed_at) from kairos.gen_durable where id > %s", (last,))
    seconds = (ended - began).total_seconds()
    moved = database.value(
        "select count(*) from kairos.gen_durable where partition_key = %s and completed_at between %s and %s",
        (LINE, began, ended),
    )
    return Drained(
        jobs / seconds,
        used.workers / jobs * 1e6,
        used.postgres / jobs * 1e6,
        line=moved / seconds,
        wal_bytes=wrote.wal_bytes / jobs,
        commits=wrote.commits / jobs,
    )


def _end(database: Database, backlog: str, workers: list[Child]) -> None:
    for worker in workers:
        worker.finish()
    if backlog == "none":
        database.clear()


def wait_for(database: Database, last: int, timeout: float = 120) -> None:
    """Wait until all jobs after `last` have ended; poll the newest one alone until it has."""
    newest = database.value("select max(id) from kairos.gen_durable")
    tail = "select completed_at is not null from kairos.gen_durable where id = %s"
    live = "select exists (select from kairos.gen_durable where id > %s and completed_at is null)"
    deadline = time.monotonic() + timeout
    while not database.value(tail, (newest,)) or database.value(live, (last,)):
        if time.monotonic() > deadline:
            raise RuntimeError(f"the jobs after {last} of {QUEUE} did not end within {timeout:g} s")
        time.sleep(0.05)
