"""What is measured, in which turns, and how large."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from bench import limit, measures
from bench.database import BACKLOGS, Databases
from bench.measures import Drained

__all__ = ["FULL", "PARTS", "QUICK", "Figures", "Size", "replace"]

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Size:
    jobs: int = 40_000
    rounds: int = 3
    seconds: float = 3.0  # of one enqueue measurement
    idle_jobs: int = 150
    steady_jobs: int = 2_000
    machines: int = 3_000
    scale: float = 1.0  # of the backlogs
    sleeping: int = 1_000
    backlog_rounds: int = 2


FULL = Size()
QUICK = Size(
    jobs=15_000,
    rounds=2,
    seconds=1.5,
    idle_jobs=60,
    steady_jobs=600,
    machines=1_000,
    scale=0.2,
    backlog_rounds=1,
)


def enqueue(databases: Databases, size: Size, peers: list[str]) -> Figures:
    """Jobs a second, one by one and a thousand a statement."""
    figures: Figures = {}
    for kind in ("one", "bulk"):
        turns = in_turns(
            size.rounds,
            kairos=lambda kind=kind: measures.enqueue(databases, "bench.client", kind, size.seconds),
            floor=lambda kind=kind: measures.enqueue(databases, "bench.floor", kind, size.seconds),
        )
        if limit.pgbench():
            batch, transactions = (1, 1_000) if kind == "one" else (1_000, 40)
            turns["limit"] = [limit.enqueue(databases, batch, 1, transactions) for _ in range(2)]
        figures[kind] = summary(turns)
    return figures


def drain(databases: Databases, size: Size, peers: list[str]) -> Figures:
    """No-op jobs a second, and what one costs, with one and two worker processes."""
    figures: Figures = {}
    for processes in (1, 2):
        turns = in_turns(
            size.rounds,
            kairos=lambda n=processes: measures.drain_kairos(databases, "none", size.jobs, n),
            floor=lambda n=processes: measures.drain_floor(databases, "none", size.jobs, n),
        )
        each: Figures = {
            field: summary(
                {name: [getattr(drained, field) for drained in found] for name, found in turns.items()}
            )
            for field in Drained.__slots__
        }
        if limit.pgbench():
            rates = in_turns(
                2,
                limit=lambda n=processes: limit.drain(databases, size.jobs, n, limit.bare()),
                own=lambda n=processes: limit.drain(databases, size.jobs, n, limit.own()),
            )
            each["rate"] |= {"limit": median(rates["limit"]), "own statements": median(rates["own"])}
        else:
            each["rate"]["limit"] = "pgbench is not there"
        figures[str(processes)] = each
    return figures


def latency(databases: Databases, size: Size, peers: list[str]) -> Figures:
    """Milliseconds from the call of enqueue to the first line of the step."""
    figures: Figures = {}
    for name, count, rate in (("idle", size.idle_jobs, 15), ("200 jobs/s", size.steady_jobs, 200)):
        turns = in_turns(
            size.rounds,
            kairos=lambda c=count, r=rate: measures.latency(databases, "bench.client", c // size.rounds, r),
            floor=lambda c=count, r=rate: measures.latency(databases, "bench.floor", c // size.rounds, r),
        )
        together = {who: sorted(wait for waits in found for wait in waits) for who, found in turns.items()}
        for share in (0.5, 0.99):
            at = {who: waits[min(len(waits) - 1, int(share * len(waits)))] for who, waits in together.items()}
            figures[f"{name} p{100 * share:.0f}"] = at | {"ratio": at["kairos"] / at["floor"]}
    return figures


def steps(databases: Databases, size: Size, peers: list[str]) -> Figures:
    """Steps a second of machines of ten steps."""
    return {"kairos": median(measures.steps(databases, size.machines) for _ in range(size.rounds))}


def backlog(databases: Databases, size: Size, peers: list[str]) -> Figures:
    """The drain again with each kind of backlog, in turns with one that has none: the ratio of the two."""
    figures: Figures = {}
    for kind in BACKLOGS:
        databases.get(kind)  # all the seeding first, so that none of it is paid for in a drain
    for kind in list(BACKLOGS)[1:]:
        figures[kind] = {}
        for processes in (1, 2):
            turns = in_turns(
                size.backlog_rounds,
                without=lambda n=processes: measures.drain_kairos(databases, "none", size.jobs // 2, n),
                backlog=lambda n=processes, k=kind: measures.drain_kairos(databases, k, size.jobs // 2, n),
            )
            rates = {name: median(drained.rate for drained in found) for name, found in turns.items()}
            costs = {name: median(drained.postgres_us for drained in found) for name, found in turns.items()}
            figures[kind][str(processes)] = {
                **rates,
                "ratio": rates["backlog"] / rates["without"],
                "postgres µs": costs["backlog"],
                "postgres µs without": costs["without"],
            }
    return figures


def cost(databases: Databases, size: Size, peers: list[str]) -> Figures:
    """Memory, and statements as the server counts them."""
    return {
        "memory MB": measures.memory(databases, size.sleeping),
        "statements": measures.statements(databases, size.jobs // 2, 15),
    }


PARTS: dict[str, Callable[[Databases, Size, list[str]], Figures]] = {
    "enqueue": enqueue,
    "drain": drain,
    "latency": latency,
    "steps": steps,
    "cost": cost,
    "backlog": backlog,
}


def in_turns(rounds: int, **measured: Callable[[], Any]) -> dict[str, list[Any]]:
    """A, B, A, B: what the machine does meanwhile hits both alike."""
    found: dict[str, list[Any]] = {name: [] for name in measured}
    for _ in range(rounds):
        for name, measure in measured.items():
            found[name].append(measure())
    return found


def summary(turns: dict[str, list[float]]) -> Figures:
    middle: Figures = {name: median(found) for name, found in turns.items()}
    # Of the ratios within the rounds, not the ratio of medians: a slow minute then hits both sides.
    ratios = [one / other for one, other in zip(turns["kairos"], turns["floor"], strict=True) if other]
    return middle | {"ratio": median(ratios) if ratios else None}
