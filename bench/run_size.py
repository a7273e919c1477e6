"""How large a run is, and how the figures of its rounds are combined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench import progress

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Size:
    """How many jobs, rounds and seconds each part of a run has."""

    jobs: int = 40_000
    rounds: int = 3
    seconds: float = 1.5  # of one enqueue measurement
    idle_jobs: int = 150
    steady_jobs: int = 2_000
    machines: int = 3_000
    sleeping: int = 1_000
    quiet: float = 15.0  # seconds of an idle worker
    lines: int = 1_000  # that a step logs while clients follow its job
    requests: float = 10.0  # seconds of requests over HTTP
    schedules: int = 10_000
    scale: float = 1.0  # of the backlogs
    rows: tuple[int, ...] = (10_000, 100_000, 1_000_000)  # ended jobs in the table
    backlog_rounds: int = 3
    enqueue_rounds: int = 6  # one by one it measures the disk, which is fast one second and slow the next
    both: bool = True  # every kind of backlog with two workers too


FULL = Size()
QUICK = Size(
    jobs=15_000,
    rounds=1,
    seconds=0.8,
    idle_jobs=30,
    steady_jobs=300,
    machines=1_000,
    quiet=8.0,
    lines=300,
    requests=4.0,
    schedules=3_000,
    scale=0.1,
    rows=(10_000, 100_000),
    backlog_rounds=1,
    enqueue_rounds=3,
    both=False,
)


def in_turns(rounds: int, **measured: Callable[[], Any]) -> dict[str, list[Any]]:
    """Measure in turns (A, B, A, B), so that a slow minute affects all; leave out what has returned None once."""
    found: dict[str, list[Any]] = {name: [] for name in measured}
    for turn in range(rounds):
        for name in list(found):
            progress.measuring(name, turn + 1, rounds)
            figure = measured[name]()
            if figure is None:
                del found[name]
            else:
                found[name].append(figure)
    return found


# With ten peers: about ten minutes on two quiet cores.
BESIDE_PEERS = Size(
    jobs=20_000,
    seconds=1.0,
    idle_jobs=90,
    steady_jobs=1_500,
    machines=2_000,
    enqueue_rounds=3,
)


def summary(turns: dict[str, list[float]]) -> Figures:
    """Return the medians, and the ratios of Kairos to each of the others."""
    figures: Figures = {name: median(found) for name, found in turns.items()}
    for name, others in turns.items():
        if name != "kairos" and all(others):
            # The median of the ratios of each round, not the ratio of the medians: a slow minute affects both sides.
            ratios = [one / other for one, other in zip(turns["kairos"], others, strict=True)]
            label = "ratio" if name == "floor" else f"ratio to {name}"
            figures |= {label: median(ratios), f"{label}, spread": [min(ratios), max(ratios)]}
    return figures


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
