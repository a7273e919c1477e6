"""Measure what a worker costs besides time: memory, and statements as Postgres logs them."""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

from bench.database import Database, Databases
from bench.drains import WARM_UP, kairos_workers, wait_for
from bench.processes import children, rss
from bench.worker_actions import QUEUE

_SLEEPERS = """
insert into kairos.gen_durable (fsm, step, state, queue, eligible_at, inserted_at, updated_at)
select 'sleeper', 'run', '{"seconds": 6}', %s, now(), now(), now() from generate_series(1, %s)
"""


def memory(databases: Databases, running: int) -> dict[str, float]:
    """Return the resident MB of a worker and of its keeper, idle and while many steps sleep."""
    database = databases.get()
    figures: dict[str, float] = {}
    for name, concurrency, jobs in (("idle", 20, 0), (f"{running:,} running", running, running)):
        (worker,) = kairos_workers(database.url, 1, concurrency)
        if jobs:
            database.run(_SLEEPERS, (QUEUE, jobs))
            database.hint()
            until(lambda: _running(database) >= jobs, "all sleepers run")  # noqa: B023
        time.sleep(2)
        figures[f"worker, {name}"] = rss(worker.pid)
        figures[f"keeper, {name}"] = sum(rss(child) for child in children(worker.pid))
        if jobs:
            wait_for(database, 0)
        worker.finish()
        database.clear()
    return figures


def _running(database: Database) -> int:
    count: int = database.value("select count(*) from kairos.gen_durable where status = 'executing'")
    return count


def until(happened: Callable[[], bool], what: str, timeout: float = 60) -> None:
    deadline = time.monotonic() + timeout
    while not happened():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within {timeout:g} s: {what}")
        time.sleep(0.05)


def statements(databases: Databases, jobs: int, idle: float) -> dict[str, Any]:
    """Return the statements that the server logs, by name: of a drain per job, and of an idle worker per second."""
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
    """Log every statement inside the block, and count them by name."""

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
