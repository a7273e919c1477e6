"""Try one fault on a running system: how long it made no progress, and what was lost, doubled or overlapped."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from chaos.checker import check
from chaos.record import Record
from chaos.rules.steps import commits

from cluster.faults import Fault
from cluster.system import WAYS, System

# Accepted jobs; requested jobs; the lifecycle; steps and effects; keys; leases; drained: see chaos/checker.py.
RULES = ("C1", "C2", "C3", "C4", "C5", "C8", "C9")
_STEADY = 3.0  # seconds of work before the fault, and after it


@dataclass
class Result:
    """Seconds are the longest pause between two successes, one of which came after the fault began."""

    title: str
    cluster: float  # of the probe, which knows nothing of Kairos
    work: dict[str, float] = field(default_factory=dict)  # commits of a worker's own job, by its way
    accept: dict[str, float] = field(default_factory=dict)  # acknowledged jobs of a client, by its way
    accepted: int = 0
    violations: list[str] = field(default_factory=list)

    @property
    def beyond(self) -> float:
        """Return how much longer than the cluster itself the slowest worker paused."""
        return max(self.work.values()) - self.cluster


class Trials:
    """The faults that are tried one after the other on one system."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._known: set[str] = set()

    def run(self, fault: Fault) -> Result:
        system = self._system
        system.database.wait_until_healthy()
        system.go_on()
        time.sleep(_STEADY)
        began = time.monotonic()
        undo = fault.inject(system)
        system.wait_for_work()
        time.sleep(_STEADY)
        over = time.monotonic()
        undo()
        system.database.wait_until_healthy()
        record = system.record(drained=system.drain())
        violations = [sentence for sentence in check(record, RULES) if sentence not in self._known]
        self._known.update(violations)
        return self._measured(fault.title, began, over, record, violations)

    def _measured(
        self, title: str, began: float, over: float, record: Record, violations: list[str]
    ) -> Result:
        system = self._system
        result = Result(title, pause(system.probe.written, began, over), violations=violations)
        offset = time.time() - time.monotonic()
        for way in WAYS:
            names = {name for name, pid in record.names.items() if pid in system.workers[way]}
            finished = [
                row["wall"] - offset for row in commits(record, "heartbeat") if row["old_holder"] in names
            ]
            result.work[way] = pause(finished, began, over)
            acknowledged = [event["t"] for event in record.events("ack") if event["client"] == way]
            result.accept[way] = pause(acknowledged, began, over)
            result.accepted += len([moment for moment in acknowledged if began <= moment <= over])
        return result


def pause(moments: Iterable[float], began: float, over: float) -> float:
    """Return the longest time between two successive moments that is not over before `began`, up to `over`."""
    inside = sorted([*(moment for moment in moments if moment < over), over])
    return max((after - before for before, after in pairwise(inside) if after > began), default=0.0)
