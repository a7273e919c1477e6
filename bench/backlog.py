"""Measure drains, enqueues and pick-ups beside a backlog of jobs that are not due, ended, or wait behind a key."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

from bench import drains, enqueue_and_pickup
from bench.database import BACKLOGS, Databases
from bench.run_size import Figures, Size, in_turns, percentile

EVERYTHING = "all"


def backlog(databases: Databases, size: Size) -> Figures:
    for kind in BACKLOGS:
        databases.get(kind)  # all backlogs are made first, so that no drain bears their cost
    figures = {
        f"drain, {processes} worker{'s' * (processes > 1)}, jobs/s": {
            kind: _drains(databases, size, kind, processes)
            for kind in BACKLOGS
            if kind != "none" and (processes == 1 or size.both or kind == EVERYTHING)
        }
        for processes in (1, 2)
    }
    for name, measure in _others(databases, size).items():
        figures[name] = {EVERYTHING: _compared(size, lambda kind, measure=measure: measure(kind), EVERYTHING)}
    waits = {
        name: in_turns(
            size.backlog_rounds,
            without=lambda c=count, r=rate: enqueue_and_pickup.latency(
                databases, enqueue_and_pickup.KAIROS, c, r
            ),
            backlog=lambda c=count, r=rate: enqueue_and_pickup.latency(
                databases, enqueue_and_pickup.KAIROS, c, r, EVERYTHING
            ),
        )
        for name, count, rate in (
            ("idle", size.idle_jobs // size.rounds, 15),
            ("200 jobs/s", size.steady_jobs // size.rounds, 200),
        )
    }
    for name, turns in waits.items():
        for share in (0.5, 0.99):
            at = {
                who: percentile([wait for one in found for wait in one], share)
                for who, found in turns.items()
            }
            figures[f"pick-up {name} p{100 * share:.0f}, ms"] = {
                EVERYTHING: at | {"ratio": at["backlog"] / at["without"]}
            }
    return figures


def _others(databases: Databases, size: Size) -> dict[str, Callable[[str], float]]:
    seconds = size.seconds
    return {
        "enqueue one by one, jobs/s": lambda kind: enqueue_and_pickup.enqueue(
            databases, enqueue_and_pickup.KAIROS, "one", seconds, kind
        ),
        "enqueue 1,000 a statement, jobs/s": lambda kind: enqueue_and_pickup.enqueue(
            databases, enqueue_and_pickup.KAIROS, "bulk", seconds, kind
        ),
        "ten-step machine, steps/s": lambda kind: drains.steps(databases, kind, size.machines // 2),
    }


def _compared(size: Size, measure: Callable[[str], float], kind: str) -> Figures:
    turns = in_turns(size.backlog_rounds, without=lambda: measure("none"), backlog=lambda: measure(kind))
    return _ratio(turns)


def _drains(databases: Databases, size: Size, kind: str, processes: int) -> Figures:
    jobs = size.jobs // 2
    turns = in_turns(
        size.backlog_rounds,
        without=lambda: drains.drain_kairos(databases, "none", jobs, processes),
        backlog=lambda: drains.drain_kairos(databases, kind, jobs, processes),
    )
    figures = _ratio({name: [drained.rate for drained in found] for name, found in turns.items()})
    for name, label in (("without", "postgres µs without"), ("backlog", "postgres µs")):
        figures[label] = median(drained.postgres_us for drained in turns[name])
    if line := median(drained.line for drained in turns["backlog"]):
        figures["line, jobs/s"] = line
    return figures


def _ratio(turns: dict[str, list[Any]]) -> Figures:
    ratios = [one / other for one, other in zip(turns["backlog"], turns["without"], strict=True)]
    return {name: median(found) for name, found in turns.items()} | {
        "ratio": median(ratios),
        "ratio, spread": [min(ratios), max(ratios)],
    }
