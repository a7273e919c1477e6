"""Counts what happened into the tally: each job and each history row once, whoever of the workers does it."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from kairos.store.pool import AsyncStore
from kairos.store.query import Query, Row, Verb, drive
from kairos.worker.loop import Loop

BATCH = 20_000
KEEP_MINUTES = timedelta(days=7)
KEEP_HOURS = timedelta(days=90)
_BUSY, _IDLE, _UNDECIDED = 1.0, 8.0, 0.25
_PRUNE_EVERY = 300


class Tally(Loop):
    """The rows of the cursors are the only lock: whoever gets one counts, the others come back later."""

    name = "tally"

    def __init__(self, store: AsyncStore) -> None:
        super().__init__()
        self._store = store
        self._looks = 0

    async def tick(self) -> float:
        if self._looks == 0:
            await self._store.run(Query("open_cursors"))
        if self._looks % _PRUNE_EVERY == 1:
            await self._store.run(Query("forget_tallies", (KEEP_MINUTES, KEEP_HOURS, BATCH)))
        self._looks += 1
        async with self._store.transaction() as connection:
            return await drive(count_new(), partial(self._store.on, connection))


def count_new(batch: int = BATCH) -> Verb[float]:
    """Count what is new and decided, within one transaction; answers how long to wait for more."""
    wait = _IDLE
    for cursor in (yield Query("lock_cursors")):
        wait = min(wait, (yield from _count(cursor, batch)))
    return wait


def _count(cursor: Row, batch: int) -> Verb[float]:
    source, counted, seen, decided = (cursor[name] for name in ("source", "counted", "seen", "decided"))
    if counted >= seen:
        if cursor["newest"] <= seen:
            return _IDLE
        seen = cursor["newest"]
        decided = (yield Query("save_cursor", (source, seen)))[0]["decided"]
    if not decided:
        return _UNDECIDED
    upto = min(seen, counted + batch)
    yield Query({"jobs": "count_jobs", "history": "count_history"}[source], (counted, upto))
    yield Query("advance_cursor", (source, upto))
    return 0.0 if upto < cursor["newest"] else _BUSY
