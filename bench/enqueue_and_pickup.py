"""Measure the rate of enqueues and the latency of pick-ups beside a backlog; a process of its own enqueues."""

from __future__ import annotations

from bench.database import Databases
from bench.drains import floor_workers, kairos_workers, wait_for, wait_for_floor
from bench.processes import Child

KAIROS, FLOOR = "bench.client", "bench.floor"  # the modules that send


def enqueue(databases: Databases, module: str, kind: str, seconds: float, backlog: str = "none") -> float:
    """Return how many jobs a second are enqueued, one by one or a thousand a statement, while no worker runs."""
    database = databases.get(backlog)
    last = database.last()
    database.settle()
    answer = Child(database.url, "-m", module, "enqueue", kind, str(seconds)).finish()
    if backlog == "none":
        database.clear()
    else:
        database.remove(last)
    return answer["jobs"] / answer["seconds"]


def latency(databases: Databases, module: str, count: int, rate: float, backlog: str = "none") -> list[float]:
    """Return the pick-up latencies in milliseconds of jobs that are sent to one worker at a steady rate."""
    database = databases.get(backlog)
    last = database.last()
    (worker,) = kairos_workers(database.url, 1, 20) if module == KAIROS else floor_workers(database.url, 1)
    if module == FLOOR:
        worker.go()
    warm_up = min(20, count)
    Child(database.url, "-m", module, "send", str(count + warm_up), str(rate)).finish()
    if module == FLOOR:
        wait_for_floor(database)
    else:
        wait_for(database, last)
    waits = worker.finish()["waits"]
    if backlog == "none":
        database.clear()
    return [1000 * wait for wait in waits[warm_up:]]
