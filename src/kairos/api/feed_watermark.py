"""The watermark of the history feed: rows up to this id are final, and no more will appear below it."""

from __future__ import annotations


class FeedWatermark:
    """Compute the id up to which the history is final (`decided`).

    Ids are taken before the commit, so a smaller id may become visible after a larger one. An id is final once every
    transaction that was writing when it was the newest has ended.
    """

    def __init__(self) -> None:
        self.decided = 0
        self.known = False
        self._open: list[tuple[int, frozenset[str]]] = []

    @property
    def waiting(self) -> int:
        """How many ids are kept until the transactions that were writing have ended."""
        return len(self._open)

    def add(self, last: int, writers: frozenset[str]) -> None:
        """Add a result of `read_feed_watermark`: the newest id, and the transactions that are writing."""
        waiting = [(number, still & writers) for number, still in self._open]
        if not waiting or waiting[-1][0] < last:
            waiting.append((last, writers))
        self._open = _without_redundant(waiting)
        decided = [number for number, still in self._open if not still]
        if decided:
            self.known = True
            self.decided = max(self.decided, *decided)
            self._open = [(number, still) for number, still in self._open if number > self.decided]


def _without_redundant(waiting: list[tuple[int, frozenset[str]]]) -> list[tuple[int, frozenset[str]]]:
    """Drop each id that waits for all transactions that the next id waits for: both become final together.

    Otherwise one long transaction would keep an id for every poll since its start.
    """
    kept: list[tuple[int, frozenset[str]]] = []
    for number, still in waiting:
        while kept and kept[-1][1] >= still:
            kept.pop()
        kept.append((number, still))
    return kept
