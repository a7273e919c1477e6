"""Counting, and the same numbers found by looking at every row."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kairos.histogram import merged
from kairos.operations.stats import Stats, series, stats
from kairos.store.async_store import AsyncStore
from kairos.store.query import drive
from kairos.worker.stats_counter import StatsCounter

NAMES = ("accepted", "started", "success", "failed", "expired", "cancelled", "retried")
ENDS = ("success", "failed", "expired", "cancelled")
# Looked at row by row, in words other than those of the statement that counts.
BY_HAND = """
select 'accepted' as what, date_trunc('minute', inserted_at at time zone 'UTC') as minute, fsm, queue
  from kairos.gen_durable
union all
select 'retried', date_trunc('minute', at at time zone 'UTC'), fsm, queue
  from kairos.history h join kairos.gen_durable g on g.id = h.job_id where verb = 'retry'
union all
select case verb when 'done' then 'success' when 'stop' then 'failed' when 'expire' then 'expired' else 'cancelled' end,
       date_trunc('minute', at at time zone 'UTC'), fsm, queue
  from kairos.history h join kairos.gen_durable g on g.id = h.job_id
  where verb in ('done', 'stop', 'expire', 'cancel', 'yield')
union all
select 'started', date_trunc('minute', h.started_at at time zone 'UTC'), fsm, queue
  from kairos.history h join kairos.gen_durable g on g.id = h.job_id
  where h.due_at is not null and h.started_at is not null and verb <> 'release'
"""


async def count(store: AsyncStore, times: int = 4) -> None:
    """As a worker's loop would, a few ticks long."""
    counter = StatsCounter(store)
    for _ in range(times):
        await counter.tick()


async def now(store: AsyncStore, window: int = 3600) -> Stats:
    return await drive(stats(window), store.run)


async def slots(store: AsyncStore, **asked: Any) -> list[Any]:
    return await drive(series(**asked), store.run)


async def tallied(store: AsyncStore, grain: int = 60) -> Counter[tuple[Any, ...]]:
    """What was counted: (what, minute, action, queue) → how many."""
    found: Counter[tuple[Any, ...]] = Counter()
    async with store.connection() as connection:
        for row in await connection.fetch(
            "select *, at at time zone 'UTC' as minute from kairos.tallies where grain = $1", grain
        ):
            for name in NAMES:
                if row[name]:
                    found[name, row["minute"], row["fsm"], row["queue"]] += row[name]
    return found


async def by_hand(store: AsyncStore) -> Counter[tuple[Any, ...]]:
    async with store.connection() as connection:
        return Counter(tuple(row) for row in await connection.fetch(BY_HAND))


def total(counts: Counter[tuple[Any, ...]], what: str) -> int:
    return sum(number for key, number in counts.items() if key[0] == what)


def measured(found: Stats) -> tuple[int, int]:
    """How many waits and runs were measured in all."""
    return (
        sum(merged(each.waits for each in found.totals).values()),
        sum(merged(each.runs for each in found.totals).values()),
    )
