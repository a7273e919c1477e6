"""A state machine as data, `Spec`: named states, and the named edges between them.

The lifecycle of jobs is one, and every machine of a user has one: the same code draws and checks them all.
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
