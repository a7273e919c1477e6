"""The record of a run, which the checker reads: the journal, and the rows of the database at the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Row = dict[str, Any]

TERMINAL = ("done", "failed", "cancelled", "expired")


@dataclass
class Record:
    """The journal holds the events of clients, steps and the nemesis; the rest are rows of the database.

    `audit` is written by a trigger of the harness, in the transaction of each change of a job.
    """

    journal: list[Row]
    jobs: list[Row]
    audit: list[Row]
    effects: list[Row] = field(default_factory=list)
    signals: list[Row] = field(default_factory=list)
    ticks: list[Row] = field(default_factory=list)
    logs: list[Row] = field(default_factory=list)
    history: list[Row] = field(default_factory=list)
    ledger: Row = field(default_factory=dict)
    server: Row = field(default_factory=dict)
    log: str = ""  # the log of the workers and the service
    drained: bool = True
    steps: int = 4
    children: int = 3

    def events(self, *names: str) -> list[Row]:
        return [event for name in names for event in self._by_name.get(name, [])]

    @cached_property
    def _by_name(self) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = {}
        for event in self.journal:
            found.setdefault(event["e"], []).append(event)
        return found

    @cached_property
    def names(self) -> dict[str, int]:
        """The process id of each worker, by the worker's name."""
        return {event["worker"]: event["pid"] for event in self.events("ready")}
