"""Measure what statements read as the table grows: buffers of the pick, the commit, lists and statistics at each size.

Buffers are counted by Postgres itself (`explain (analyze, buffers)`), so the figures do not depend on the machine.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Generator, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

from bench.database import HISTORY, Database, Databases
from bench.run_size import Figures
from bench.worker_actions import QUEUE
from kairos import Kairos
from kairos.operations.find_jobs import list_jobs
from kairos.operations.stats import stats
from kairos.store.array_literals import plain
from kairos.store.query import Query, drive

BATCH = 100
_DUE = """
insert into kairos.gen_durable (fsm, step, state, queue)
select 'noop', 'run', '{"n": 0}', $1 from generate_series(1, $2)
"""
# What people and programs read most often: the newest jobs, jobs by state and by action, statistics.
_READS: dict[str, Callable[[], Generator[Any, Any, Any]]] = {
    "list: the newest 50": lambda: list_jobs(),
    "list: an action": lambda: list_jobs(action="noop"),
    "list: a state and a queue": lambda: list_jobs(state=["success"], queue=QUEUE),
    "statistics of an hour": lambda: stats(),
}


def rows(databases: Databases, sizes: tuple[int, ...]) -> Figures:
    """Return the buffers of each statement, for each number of ended jobs in the table."""
    database = databases.get()
    database.clear()
    figures: Figures = {}
    for size in sizes:
        fill(database, size)
        for statement, buffers in measure(database.url).items():
            figures.setdefault(statement, {})[f"{size:,}"] = buffers
    database.clear()
    return figures


def fill(database: Database, size: int) -> None:
    """Fill the table up to `size` ended jobs with their history, and a hundredth as many that are due in 30 days."""
    there = database.value("select count(*) from kairos.gen_durable where status = 'done'")
    last = database.add(count=size - there, done=True)
    database.run(f"{HISTORY} and id > %s", (last,))
    database.add(count=(size - there) // 100, due="30 days")
    database.settle()


def measure(url: str) -> dict[str, int]:
    """Return the buffers of each statement, with the pick and the commit of a hundred jobs; roll back all changes."""
    return asyncio.run(_measure(url))


async def _measure(url: str) -> dict[str, int]:
    found: dict[str, int] = {}
    async with Kairos(url) as app, app.store.connection() as connection:
        store = app.store

        async def count(name: str, query: Query) -> Any:
            """Run a statement for its plan and count its buffers; then run it again and return its rows."""
            probe = connection.transaction()
            await probe.start()
            explained = f"explain (analyze, buffers, format json) {store.sql[query.name]}"
            (plan,) = json.loads(await connection.fetchval(explained, *query.params))
            await probe.rollback()
            found[name] = found.get(name, 0) + buffers(plan["Plan"])
            return await store.on(connection, query)

        change = connection.transaction()
        await change.start()
        await connection.execute(_DUE, QUEUE, BATCH)
        lease = timedelta(seconds=10)
        claims = await count(
            f"pick of {BATCH}", Query("pick_jobs", (QUEUE, BATCH, "bench", lease, False, None, None))
        )
        ids, leases = plain([row["id"] for row in claims]), plain([row["lease"] for row in claims])
        results = plain([None] * len(claims))
        await count(f"commit of {BATCH}", Query("finish_jobs", (ids, leases, results, "bench", "1s")))
        await change.rollback()
        for name, operation in _READS.items():
            await drive(operation(), partial(count, name))
    return found


def buffers(plan: dict[str, Any]) -> int:
    """Return the pages that a plan touched: those of its root, and of changes in WITH that nothing reads, run last."""
    nodes = list(_nodes(plan))
    read = {node.get("CTE Name") for node in nodes}
    after = [
        node
        for node in nodes
        if node.get("Subplan Name", "").startswith("CTE ") and node["Subplan Name"][4:] not in read
    ]
    return sum(node["Shared Hit Blocks"] + node["Shared Read Blocks"] for node in (plan, *after))


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _nodes(below)
