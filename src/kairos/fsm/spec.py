"""A state machine as data: named edges between named states.

The job's lifecycle and every machine a user writes are the same `Spec`, so one renderer draws
both and one check refuses the same mistakes in both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edge:
    """One allowed change: `verb` moves `source` to `target`. `by` is the actor, `because` the reason."""

    verb: str
    source: str
    target: str
    by: str = ""
    because: str = ""


@dataclass(frozen=True, slots=True)
class Spec:
    """States in order of first mention, the initial and final ones, and the edges between them."""

    name: str
    states: tuple[str, ...]
    initial: tuple[str, ...]
    terminal: frozenset[str]
    edges: tuple[Edge, ...]

    def leaving(self, state: str) -> Iterator[Edge]:
        return (edge for edge in self.edges if edge.source == state)

    def unreachable(self) -> tuple[str, ...]:
        """Return the states that no path from an initial state reaches."""
        seen: set[str] = set()
        frontier = list(self.initial)
        while frontier:
            state = frontier.pop()
            if state not in seen:
                seen.add(state)
                frontier.extend(edge.target for edge in self.leaving(state))
        return tuple(state for state in self.states if state not in seen)

    def unknown(self) -> tuple[str, ...]:
        """Return the states that edges lead to and the machine lacks."""
        return tuple(edge.target for edge in self.edges if edge.target not in self.states)
