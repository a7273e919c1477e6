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
        waiting = [(number, still & writers) for number, still in self._open]
        if not waiting or waiting[-1][0] < last:
            waiting.append((last, writers))
        self._open = _shortened(waiting)
        decided = [number for number, still in self._open if not still]
        if decided:
            self.known = True
            self.decided = max(self.decided, *decided)
            self._open = [(number, still) for number, still in self._open if number > self.decided]


def _shortened(waiting: list[tuple[int, frozenset[str]]]) -> list[tuple[int, frozenset[str]]]:
    """Without the numbers that wait for all whom the next one waits for: they are decided with it.

    One transaction that stays open would otherwise keep a number of every look that was taken meanwhile.
    """
    kept: list[tuple[int, frozenset[str]]] = []
    for number, still in waiting:
        while kept and kept[-1][1] >= still:
            kept.pop()
        kept.append((number, still))
    return kept
