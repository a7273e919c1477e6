"""Count jobs and history rows into the statistics, each exactly once over all workers."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from kairos.operations.stats import MINUTES_KEPT
from kairos.store.async_store import AsyncStore
from kairos.store.query import Operation, Query, Row, drive
from kairos.worker.loop import Loop

BATCH = 20_000  # rows in one transaction
KEEP_HOURS = timedelta(days=90)
# Seconds until the next count: after some rows, after none, and while transactions that may still insert rows run.
_BUSY, _IDLE, _UNDECIDED = 1.0, 8.0, 0.25
_PRUNE_EVERY = 300  # ticks


class StatsCounter(Loop):
    """Advance the statistics cursors. A cursor's row lock lets one worker count; the others skip it."""

    name = "stats counter"

    def __init__(self, store: AsyncStore) -> None:
        super().__init__()
        self._store = store
        self._polls = 0

    async def tick(self) -> float:
        if self._polls == 0:
            await self._store.run(Query("insert_stats_cursors"))
        if self._polls % _PRUNE_EVERY == 1:
            await self._store.run(Query("purge_stats", (MINUTES_KEPT, KEEP_HOURS, BATCH)))
        self._polls += 1
        async with self._store.transaction() as connection:
            return await drive(count_new(), partial(self._store.on, connection))


def count_new() -> Operation[float]:
    """Count the rows that are new and final, in one transaction; return how long to wait for more."""
    wait = _IDLE
    for cursor in (yield Query("lock_stats_cursors")):
        wait = min(wait, (yield from _count(cursor)))
    return wait


def _count(cursor: Row) -> Operation[float]:
    source, counted, seen, decided = (cursor[name] for name in ("source", "counted", "seen", "decided"))
    if counted >= seen:
        if cursor["newest"] <= seen:
            return _IDLE
        seen = cursor["newest"]
        decided = (yield Query("save_stats_cursor", (source, seen)))[0]["decided"]
    if not decided:
        return _UNDECIDED
    upto = min(seen, counted + BATCH)
    yield Query({"jobs": "add_jobs_to_stats", "history": "add_history_to_stats"}[source], (counted, upto))
    yield Query("advance_stats_cursor", (source, upto))
    return 0.0 if upto < cursor["newest"] else _BUSY
