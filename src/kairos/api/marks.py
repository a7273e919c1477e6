"""How far the order of all changes is decided: what lies below is all there will ever be."""

from __future__ import annotations


class Marks:
    """How far the order of all changes is decided.

    Numbers are drawn before their commit: a smaller one may become visible after a larger one. A number is decided
    once everyone who was writing when it was the last one has ended.
    """

    def __init__(self) -> None:
        self.decided = 0
        self.known = False
        self._open: list[tuple[int, frozenset[str]]] = []

    def add(self, last: int, writers: frozenset[str]) -> None:
        """What `mark_feed` says now."""
        self._open = [(number, still & writers) for number, still in self._open]
        if not self._open or self._open[-1][0] < last:
            self._open.append((last, writers))
        decided = [number for number, still in self._open if not still]
        if decided:
            self.known = True
            self.decided = max(self.decided, *decided)
            self._open = [(number, still) for number, still in self._open if number > self.decided]
