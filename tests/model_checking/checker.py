"""A model checker in a screenful: every state that can be reached, breadth first, and the shortest way to a bad one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

S = TypeVar("S", bound=Hashable)
Steps = Callable[[S], Iterable[tuple[str, S]]]
# What is wrong with a step from one state to another, in words; None when it is fine.
Law = Callable[[S, str, S], str | None]


@dataclass(frozen=True)
class Found(Generic[S]):
    """The shortest way to a broken law."""

    broken: str
    trace: tuple[str, ...]


@dataclass
class Explored(Generic[S]):
    states: int
    steps: list[tuple[S, str, S]]


def check(initial: S, steps: Steps[S], laws: Iterable[Law[S]]) -> Found[S] | Explored[S]:
    """Walk everything; answers the first broken law, or what was walked."""
    laws = tuple(laws)
    came_from: dict[S, tuple[S, str] | None] = {initial: None}
    frontier = deque([initial])
    walked = []
    while frontier:
        state = frontier.popleft()
        for name, after in steps(state):
            walked.append((state, name, after))
            for law in laws:
                if (broken := law(state, name, after)) is not None:
                    return Found(broken, (*_way(came_from, state), name))
            if after not in came_from:
                came_from[after] = (state, name)
                frontier.append(after)
    return Explored(len(came_from), walked)


def _way(came_from: dict[S, tuple[S, str] | None], state: S) -> tuple[str, ...]:
    def back() -> Iterator[str]:
        here = state
        while (before := came_from[here]) is not None:
            here, name = before
            yield name

    return tuple(reversed(list(back())))
