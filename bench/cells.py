"""A discrete-event simulation of cells: several databases, each with its own workers, and jobs routed to them by key.

    python -m bench.cells                               100,000 jobs a second on 16 cells, for ten seconds
    python -m bench.cells --rate 1000 --capacity 100    the same, a hundred times smaller, in about a second

It answers what the design on paper claims (docs/operate/scale.md): the load spreads, one cell that is away delays only
its own jobs, keys stay in order, a new cell moves only its share of the keys. The speed of Postgres is given:
`--capacity` is how many jobs a second one cell carries, by measurement.
"""

from __future__ import annotations

import argparse
import hashlib
import heapq
import itertools
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

ARRIVE, COMMIT, END = 0, 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is simulated: `skew` is the exponent of the popularity of keys, `away` the cell that fails and when."""

    rate: float = 100_000.0
    cells: int = 16
    capacity: float = 8_000.0
    seconds: float = 10.0
    keys: int = 1_000_000
    skew: float = 0.3
    step: float = 0.02
    away: tuple[int, float, float] | None = (3, 3.0, 5.0)
    seed: int = 1


@dataclass(slots=True)
class Cell:
    """One database: it commits one job after the other, and runs the jobs of one key one at a time."""

    service: float
    busy: bool = False
    queue: deque[tuple[float, int]] = field(default_factory=deque)
    held: dict[int, deque[float]] = field(default_factory=dict)
    done: int = 0
    longest: int = 0
    used: float = 0.0


def cell_of(key: int, cells: int) -> int:
    """Return the cell of a key by rendezvous hashing: a new cell takes its share of the keys, and no others move."""
    text = str(key).encode()
    return max(
        range(cells), key=lambda cell: hashlib.blake2b(text, digest_size=8, salt=cell.to_bytes(16)).digest()
    )


def simulate(plan: Plan) -> dict[str, Any]:
    """Run until every accepted job has ended, and return what happened."""
    chance = random.Random(plan.seed)
    cells = [Cell(1 / plan.capacity) for _ in range(plan.cells)]
    homes: dict[int, int] = {}
    events: list[tuple[float, int, int, float, int, int]] = []
    numbers = itertools.count()
    waits: list[list[float]] = [[] for _ in cells]
    last: dict[int, float] = {}
    accepted = disordered = 0

    def push(at: float, kind: int, arrived: float, key: int, cell: int) -> None:
        heapq.heappush(events, (at, next(numbers), kind, arrived, key, cell))

    def commit(now: float, index: int) -> None:
        """Let the cell commit its next job, at once or when it is back."""
        cell = cells[index]
        if cell.busy or not cell.queue:
            return
        begins = now
        if plan.away is not None and index == plan.away[0]:
            _, start, length = plan.away
            begins = start + length if start <= now < start + length else now
        arrived, key = cell.queue.popleft()
        cell.busy = True
        cell.used += cell.service
        push(begins + cell.service, COMMIT, arrived, key, index)

    def begin(now: float, arrived: float, key: int, index: int) -> None:
        nonlocal disordered
        waits[index].append(now - arrived)
        disordered += last.get(key, 0.0) > arrived
        last[key] = arrived
        push(now + plan.step, END, arrived, key, index)

    push(chance.expovariate(plan.rate), ARRIVE, 0.0, 0, 0)
    now = 0.0
    while events:
        now, _, kind, arrived, key, index = heapq.heappop(events)
        cell = cells[index]
        if kind == ARRIVE:
            if now > plan.seconds:
                continue
            push(now + chance.expovariate(plan.rate), ARRIVE, 0.0, 0, 0)
            key = int(plan.keys * chance.random() ** (1 / (1 - plan.skew)))
            index = homes.get(key, -1)
            if index < 0:
                index = homes[key] = cell_of(key, plan.cells)
            accepted += 1
            cells[index].queue.append((now, key))
            cells[index].longest = max(cells[index].longest, len(cells[index].queue))
            commit(now, index)
        elif kind == COMMIT:
            cell.busy = False
            if key in cell.held:
                cell.held[key].append(arrived)
            else:
                cell.held[key] = deque()
                begin(now, arrived, key, index)
            commit(now, index)
        else:
            cell.done += 1
            if cell.held[key]:
                begin(now, cell.held[key].popleft(), key, index)
            else:
                del cell.held[key]
    return _report(plan, cells, waits, accepted, disordered, now)


def moved(keys: int, cells: int) -> float:
    """Return the share of the keys that another cell has once there is one more."""
    return sum(cell_of(key, cells) != cell_of(key, cells + 1) for key in range(keys)) / keys


def _report(
    plan: Plan, cells: list[Cell], waits: list[list[float]], accepted: int, disordered: int, ended: float
) -> dict[str, Any]:
    away = -1 if plan.away is None else plan.away[0]
    others = sorted(wait for index, each in enumerate(waits) if index != away for wait in each)
    there = sorted(waits[away]) if away >= 0 else [0.0]
    return {
        "accepted": accepted,
        "done": sum(cell.done for cell in cells),
        "out of order": disordered,
        "use of the busiest cell": max(cell.used for cell in cells) / plan.seconds,
        "use of the idlest cell": min(cell.used for cell in cells) / plan.seconds,
        "wait elsewhere, p50 ms": 1000 * others[len(others) // 2],
        "wait elsewhere, p99 ms": 1000 * others[len(others) * 99 // 100],
        "longest wait in the cell that was away, s": there[-1],
        "longest queue": max(cell.longest for cell in cells),
        "all ended after, s": ended,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("rate", "capacity", "seconds", "skew", "step"):
        parser.add_argument(f"--{name}", type=float, default=getattr(Plan(), name))
    for name in ("cells", "keys", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Plan(), name))
    given = parser.parse_args()
    plan = Plan(**vars(given))
    for name, value in simulate(plan).items():
        print(f"{name:45} {value:,.2f}" if isinstance(value, float) else f"{name:45} {value:,}")
    print(f"{'keys that move to a new cell':45} {moved(10_000, plan.cells):.1%}")


if __name__ == "__main__":
    main()
