"""The parts of the benchmark: what each measures, and in which order the programs take turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from bench import database_limit, drains, enqueue_and_pickup, schedule_texts, service, streams, worker_cost
from bench.backlog import backlog
from bench.buffers_by_size import rows
from bench.database import Databases
from bench.peer import Peer
from bench.run_size import Figures, Size, in_turns, percentile, summary

__all__ = ["PARTS", "WITH_PEERS"]

_PER_DRAIN = ("rate", "worker_us", "postgres_us", "wal_bytes", "commits")


def enqueue(databases: Databases, size: Size, peers: Sequence[Peer]) -> Figures:
    """Measure enqueues: jobs a second, one by one and a thousand a statement."""
    figures: Figures = {}
    for kind in ("one", "bulk"):
        turns = in_turns(
            size.enqueue_rounds,
            kairos=lambda kind=kind: enqueue_and_pickup.enqueue(
                databases, enqueue_and_pickup.KAIROS, kind, size.seconds
            ),
            floor=lambda kind=kind: enqueue_and_pickup.enqueue(
                databases, enqueue_and_pickup.FLOOR, kind, size.seconds
            ),
            **{
                peer.name: lambda peer=peer, kind=kind: peer.tried(peer.enqueue, kind, size.seconds)
                for peer in peers
            },
        )
        figures[kind] = summary(turns)
        if database_limit.pgbench():
            batch, transactions = (1, 500) if kind == "one" else (1_000, 20)
            figures[kind]["limit"] = median(
                database_limit.enqueue(databases, batch, 1, transactions) for _ in range(size.enqueue_rounds)
            )
    return figures


def drain(databases: Databases, size: Size, peers: Sequence[Peer]) -> Figures:
    """Measure drains of no-op jobs: jobs a second and the cost of one, with one and two worker processes."""
    figures: Figures = {}
    for processes in (1, 2):
        turns = in_turns(
            size.rounds,
            kairos=lambda n=processes: drains.drain_kairos(databases, "none", size.jobs, n),
            floor=lambda n=processes: drains.drain_floor(databases, size.jobs, n),
            **{
                peer.name: lambda peer=peer, n=processes: peer.tried(peer.drain, size.jobs, n)
                for peer in peers
            },
        )
        each: Figures = {
            field: summary(
                {name: [getattr(drained, field) for drained in found] for name, found in turns.items()}
            )
            for field in _PER_DRAIN
        }
        if database_limit.pgbench():
            rates = in_turns(
                size.rounds,
                limit=lambda n=processes: database_limit.drain(
                    databases, size.jobs, n, database_limit.bare()
                ),
                own=lambda n=processes: database_limit.drain(databases, size.jobs, n, database_limit.own()),
            )
            each["rate"] |= {"limit": median(rates["limit"]), "own statements": median(rates["own"])}
        else:
            each["rate"]["limit"] = "no pgbench"
        figures[str(processes)] = each
    return figures


def latency(databases: Databases, size: Size, peers: Sequence[Peer]) -> Figures:
    """Measure pick-ups: milliseconds from the call of enqueue to the first line of the step."""
    figures: Figures = {}
    for name, count, rate in (("idle", size.idle_jobs, 15), ("200 jobs/s", size.steady_jobs, 200)):
        turns = in_turns(
            size.rounds,
            kairos=lambda c=count, r=rate: enqueue_and_pickup.latency(
                databases, enqueue_and_pickup.KAIROS, c // size.rounds, r
            ),
            floor=lambda c=count, r=rate: enqueue_and_pickup.latency(
                databases, enqueue_and_pickup.FLOOR, c // size.rounds, r
            ),
        )
        for share in (0.5, 0.99):
            at = {
                who: percentile([wait for one in found for wait in one], share)
                for who, found in turns.items()
            }
            figures[f"{name} p{100 * share:.0f}"] = at | {"ratio": at["kairos"] / at["floor"]}
    return figures


def steps(databases: Databases, size: Size, peers: Sequence[Peer]) -> Figures:
    """Measure steps a second of machines of ten steps."""
    return {"kairos": median(drains.steps(databases, "none", size.machines) for _ in range(size.rounds))}


def cost(databases: Databases, size: Size, peers: Sequence[Peer]) -> Figures:
    """Measure a worker's memory, and its statements as the server logs them."""
    return {
        "memory MB": worker_cost.memory(databases, size.sleeping),
        "statements": worker_cost.statements(databases, size.jobs // 2, size.quiet),
    }


def stream(databases: Databases, size: Size, peers: Sequence[Peer]) -> Figures:
    """Measure milliseconds from a log line of a step to the clients that follow its job."""
    return {
        f"{readers} reader{'s' * (readers > 1)}": streams.delivery(databases, size.lines, 0.02, readers)
        for readers in (1, 20)
    }


def http(databases: Databases, size: Size, peers: Sequence[Peer]) -> Figures:
    """Measure the service: one job a request at 300 a second, a hundred a request, and lists of a large table."""
    return {
        "post": service.requests(databases, size.requests, 300),
        "batch": service.batches(databases, size.requests),
        "lists": service.lists(databases, 40),
    }


def schedules(databases: Databases, size: Size, peers: Sequence[Peer]) -> Figures:
    """Measure parsing of intents, and many schedules that are due at one instant."""
    return {"reading": schedule_texts.reading(50), "firing": schedule_texts.firing(databases, size.schedules)}


# The parts that `--peers` measures unless `--only` names others.
WITH_PEERS = ("enqueue", "drain", "latency", "steps")
PARTS: dict[str, Callable[[Databases, Size, Sequence[Peer]], Figures]] = {
    "enqueue": enqueue,
    "drain": drain,
    "latency": latency,
    "steps": steps,
    "cost": cost,
    "http": http,
    "stream": stream,
    "schedules": schedules,
    "backlog": lambda databases, size, peers: backlog(databases, size),
    "rows": lambda databases, size, peers: rows(databases, size.rows),
}
