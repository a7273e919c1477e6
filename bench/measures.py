"""The measurements. Each returns plain figures; medians and ratios are made by the report."""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.database import Database, Databases
from bench.machines import QUEUE, STEPS
from bench.processes import Child, Cpu, children, rss

CONCURRENCY = 100
WARM_UP = 500


@dataclass(frozen=True, slots=True)
class Drained:
    """One drain: jobs a second, and CPU µs a job of the workers and of Postgres."""

    rate: float
    worker_us: float
    postgres_us: float


def kairos_workers(url: str, processes: int, concurrency: int = CONCURRENCY) -> list[Child]:
    return [
        child.ready()
        for child in [Child(url, "-m", "bench.worker", str(concurrency)) for _ in range(processes)]
    ]


def floor_workers(url: str, processes: int) -> list[Child]:
    return [child.ready() for child in [Child(url, "-m", "bench.floor", "work") for _ in range(processes)]]


def drain_kairos(
    databases: Databases, backlog: str, jobs: int, processes: int, *, action: str = "noop", step: str = "run"
) -> Drained:
    """Jobs put behind a paused queue of running, warm workers; timed from the resume to the last commit."""
    database = databases.get(backlog)
    workers = kairos_workers(database.url, processes)
    try:
        last = database.add(count=WARM_UP)
        database.run("select pg_notify('kairos', %s)", (QUEUE,))
        wait_for(database, last)
        database.pause()
        last = database.add(count=jobs, fsm=action, step=step)
        database.settle()
        before = Cpu.of([worker.pid for worker in workers], databases.postmaster)
        began = database.resume()
        return _drained(databases, database, last, jobs, began, before, workers)
    finally:
        _end(database, backlog, workers)


def drain_floor(databases: Databases, backlog: str, jobs: int, processes: int) -> Drained:
    database = databases.get(backlog)
    workers = floor_workers(database.url, processes)
    try:
        last = database.add(count=jobs)
        database.settle()
        before = Cpu.of([worker.pid for worker in workers], databases.postmaster)
        began = database.value("select clock_timestamp()")
        for worker in workers:
            worker.go()
        return _drained(databases, database, last, jobs, began, before, workers)
    finally:
        _end(database, backlog, workers)


def _drained(
    databases: Databases,
    database: Database,
    last: int,
    jobs: int,
    began: Any,
    before: Cpu,
    workers: list[Child],
) -> Drained:
    wait_for(database, last)
    used = Cpu.of([worker.pid for worker in workers], databases.postmaster) - before
    ended = database.value("select max(completed_at) from kairos.gen_durable where id > %s", (last,))
    rate = jobs / (ended - began).total_seconds()
    return Drained(rate, used.workers / jobs * 1e6, used.postgres / jobs * 1e6)


def _end(database: Database, backlog: str, workers: list[Child]) -> None:
    database.resume()
    for worker in workers:
        worker.finish()
    if backlog == "none":
        database.clear()


def wait_for(database: Database, last: int, patience: float = 120) -> None:
    """Wait until all jobs after `last` ended; looks at the newest alone until that one has."""
    newest = database.value("select max(id) from kairos.gen_durable")
    tail = "select completed_at is not null from kairos.gen_durable where id = %s"
    live = "select exists (select from kairos.gen_durable where id > %s and completed_at is null)"
    deadline = time.monotonic() + patience
    while not database.value(tail, (newest,)) or database.value(live, (last,)):
        if time.monotonic() > deadline:
            raise RuntimeError(f"the jobs after {last} did not end within {patience:g} s")
        time.sleep(0.05)


def enqueue(databases: Databases, module: str, kind: str, seconds: float) -> float:
    """Jobs a second, one by one or a thousand a statement, by a process of its own; no worker runs."""
    database = databases.get()
    database.settle()
    answer = Child(database.url, "-m", module, "enqueue", kind, str(seconds)).finish()
    database.clear()
    return answer["jobs"] / answer["seconds"]


def latency(databases: Databases, module: str, count: int, rate: float) -> list[float]:
    """Pick-up latencies in milliseconds, sent at a steady rate to one worker."""
    database = databases.get()
    kairos = module == "bench.client"
    (worker,) = kairos_workers(database.url, 1, 20) if kairos else floor_workers(database.url, 1)
    if not kairos:
        worker.go()
    warm_up = min(20, count)
    Child(database.url, "-m", module, "send", str(count + warm_up), str(rate)).finish()
    wait_for(database, 0)
    waits = worker.finish()["waits"]
    database.clear()
    return [1000 * wait for wait in waits[warm_up:]]


def steps(databases: Databases, jobs: int) -> float:
    """Steps a second of machines of ten steps, by one worker."""
    return STEPS * drain_kairos(databases, "none", jobs, 1, action="ten", step="go").rate


def memory(databases: Databases, running: int) -> dict[str, float]:
    """Resident MB of a worker and its keeper, idle and with many steps asleep at once."""
    database = databases.get()
    figures: dict[str, float] = {}
    for name, concurrency, jobs in (("idle", 20, 0), ("busy", running, running)):
        (worker,) = kairos_workers(database.url, 1, concurrency)
        if jobs:
            database.run(
                "insert into kairos.gen_durable (fsm, step, state, queue, eligible_at, inserted_at, updated_at)"
                """ select 'sleeper', 'run', '{"seconds": 8}', %s, now(), now(), now() from generate_series(1, %s)""",
                (QUEUE, jobs),
            )
            database.run("select pg_notify('kairos', %s)", (QUEUE,))
            until(lambda: _running(database) >= jobs, "all sleepers run")  # noqa: B023
        time.sleep(3)
        figures[f"{name} worker"] = rss(worker.pid)
        figures[f"{name} keeper"] = sum(rss(child) for child in children(worker.pid))
        wait_for(database, 0) if jobs else None
        worker.finish()
        database.clear()
    return figures


def _running(database: Database) -> int:
    return database.value("select count(*) from kairos.gen_durable where status = 'executing'")


def until(happened: Callable[[], bool], what: str, patience: float = 60) -> None:
    deadline = time.monotonic() + patience
    while not happened():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within {patience:g} s: {what}")
        time.sleep(0.05)


def statements(databases: Databases, jobs: int, idle: float) -> dict[str, Any]:
    """Statements by name as the server logs them: of a drain, by job, and of an idle worker, by second."""
    database = databases.get()
    (worker,) = kairos_workers(database.url, 1)
    last = database.add(count=WARM_UP)
    wait_for(database, last)
    database.pause()
    last = database.add(count=jobs)
    database.settle()
    time.sleep(1.5)
    with _logged(databases, database) as drained:
        database.resume()
        wait_for(database, last)
    time.sleep(1)
    with _logged(databases, database) as idled:
        time.sleep(idle)
    worker.finish()
    database.clear()
    return {
        "by job": {name: count / jobs for name, count in drained.count.items()},
        "ms each": {name: drained.ms[name] / count for name, count in drained.count.items()},
        "per job": sum(drained.count.values()) / jobs,
        "idle by second": {name: count / idle for name, count in idled.count.items()},
        "idle per second": sum(idled.count.values()) / idle,
    }


_LINE = re.compile(
    r"\[kairos(?: keeper)?\] .*duration: ([\d.]+) ms  (?:execute [^:]*|statement): (?:-- (\w+):|(.{0,40}))"
)


class _logged:  # noqa: N801 (reads as a word)
    """Lets the server log every statement for a while, and counts them by name."""

    def __init__(self, databases: Databases, database: Database) -> None:
        self._log = databases.log
        self._database = database
        self.count: Counter[str] = Counter()
        self.ms: defaultdict[str, float] = defaultdict(float)

    def __enter__(self) -> _logged:
        self._set("log_line_prefix", "'[%a] '")
        self._set("log_min_duration_statement", "0")
        self._began = self._log.stat().st_size
        return self

    def __exit__(self, *_: object) -> None:
        self._set("log_min_duration_statement", "-1")
        with self._log.open(errors="replace") as log:
            log.seek(self._began)
            for line in log:
                if found := _LINE.search(line):
                    name = found[2] or found[3].strip().rstrip(";").lower()
                    self.count[name] += 1
                    self.ms[name] += float(found[1])

    def _set(self, name: str, value: str) -> None:
        self._database.run(f"alter system set {name} = {value}")
        self._database.run("select pg_reload_conf()")
        time.sleep(0.3)
