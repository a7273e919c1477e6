"""Measure drains before and during a snapshot that another session keeps open: `python -m bench.snapshot --minutes 10`.

While it is open, nothing that jobs leave behind can be vacuumed: the versions of rows and the index entries of each job
that was enqueued, claimed and finished since. A client enqueues at a steady rate for the given time; the later drains
have to read past all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from datetime import date
from statistics import median
from typing import Any

import psycopg

from bench.database import Database, Databases
from bench.drains import WARM_UP, kairos_workers, wait_for
from bench.worker_actions import noop
from kairos import SyncKairos

_BLOCKS = """
select blks_hit + blks_read from pg_stat_database where datname = current_database()
"""
_CALLS = 10  # of `enqueue_many`, a second


def drain(database: Database, jobs: int) -> dict[str, float]:
    """Return jobs a second, and how many blocks of 8 kB Postgres read for each job."""
    database.pause()
    last = database.add(count=jobs)
    database.run("vacuum (analyze) kairos.gen_durable")  # removes nothing that the snapshot may see
    database.run("checkpoint")
    blocks = _blocks(database)
    began = database.resume()
    wait_for(database, last)
    ended = database.value("select max(completed_at) from kairos.gen_durable where id > %s", (last,))
    return {
        "jobs a second": jobs / (ended - began).total_seconds(),
        "blocks a job": (_blocks(database) - blocks) / jobs,
    }


def _blocks(database: Database) -> int:
    time.sleep(1.5)  # a backend reports its counters at most once a second
    database.run("select pg_stat_force_next_flush()")
    found: int = database.value(_BLOCKS)
    return found


def enqueue_steadily(url: str, rate: float, seconds: float) -> int:
    count, began, turn = 0, time.monotonic(), 0
    with SyncKairos(url) as app:
        while (due := began + turn / _CALLS) < began + seconds:
            time.sleep(max(0.0, due - time.monotonic()))
            count += len(app.enqueue_many(noop.call(n=turn) for _ in range(int(rate / _CALLS))))
            turn += 1
    return count


def measure(jobs: int, rounds: int, minutes: float, rate: float) -> dict[str, Any]:
    with Databases() as databases:
        database = databases.get()
        (worker,) = kairos_workers(database.url, 1)
        last = database.add(count=WARM_UP)
        database.hint()
        wait_for(database, last)
        before = [drain(database, jobs) for _ in range(rounds)]
        with psycopg.connect(database.url) as holder:
            holder.execute("set transaction isolation level repeatable read")
            holder.execute("select count(*) from kairos.history")
            last = database.last()
            enqueued = enqueue_steadily(database.url, rate, 60 * minutes)
            wait_for(database, last)
            under = [drain(database, jobs) for _ in range(rounds)]
        worker.finish()
    figures: dict[str, Any] = {"enqueued under the snapshot": enqueued}
    for name in ("jobs a second", "blocks a job"):
        first, then = (median(each[name] for each in drains) for drains in (before, under))
        figures[name] = {
            "before": round(first, 1),
            "under the snapshot": round(then, 1),
            "ratio": round(then / first, 2),
        }
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.snapshot", description="Drains under a snapshot.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rate", type=float, default=1000.0, help="jobs a second while it is open")
    parser.add_argument("--jobs", type=int, default=40_000, help="of a drain")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    load = [os.getloadavg()[0]]
    figures = measure(chosen.jobs, chosen.rounds, chosen.minutes, chosen.rate)
    load.append(os.getloadavg()[0])
    figures["machine"] = {
        "date": f"{date.today():%-d %B %Y}",
        "command": f"python -m bench.snapshot --minutes {chosen.minutes:g} --rate {chosen.rate:g}",
        "cores": os.cpu_count(),
        "load at the start and the end": [round(each, 1) for each in load],
    }
    print(json.dumps(figures, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
