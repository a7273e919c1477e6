"""Many workers on one database: what they cost when idle, how they share a queue, how they return after a restart.

    python -m bench.many_workers --workers 200 --processes 8

Several workers run in one process, each with an app, connections and a keeper of its own: to Postgres they are what as
many processes are. CPU is CPU time of Postgres, which a busy machine changes little.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

import psycopg

from bench.processes import Child, Cpu
from kairos import Kairos
from kairos.embedded import Server

SETTINGS = {"max_connections": "2000", "shared_buffers": "256MB"}
OURS = "where backend_type = 'client backend' and pid <> pg_backend_pid()"
STARTS = f"""
select extract(epoch from backend_start - pg_postmaster_start_time()) from pg_stat_activity {OURS} order by 1
"""


async def run_workers(url: str, count: int) -> None:
    """A process with several workers, until it is told to end; then it says what they picked."""
    picks = {"picks": 0, "empty": 0}
    async with AsyncExitStack() as stack:
        for _ in range(count):
            app = await stack.enter_async_context(Kairos(url))

            @app.job(name="nothing", queue="shared")
            async def nothing() -> None: ...

            worker = await stack.enter_async_context(app.worker(queues=["shared"]))
            count_picks(worker.picker, picks)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
    print(json.dumps(picks), flush=True)


def count_picks(picker: Any, picks: dict[str, int]) -> None:
    fetch = picker._fetch

    async def counted(queue: str, room: int) -> Any:
        rows = await fetch(queue, room)
        picks["picks"] += 1
        picks["empty"] += not rows
        return rows

    picker._fetch = counted


def measure(workers: int, processes: int, seconds: float, jobs: int) -> dict[str, Any]:
    """Start a Postgres and the workers, and return what was seen."""
    figures: dict[str, Any] = {"workers": workers}
    with ExitStack() as stack:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="kairos-many-", ignore_cleanup_errors=True)
        )
        server = Server(Path(folder), settings=SETTINGS)
        server.start()
        stack.callback(server.stop)
        url = server.url()
        asyncio.run(Kairos(url).migrate())
        share = [workers // processes + (index < workers % processes) for index in range(processes)]
        children = [Child(url, "-m", "bench.many_workers", "--child", str(count)) for count in share]
        for child in children:
            child.ready()
        time.sleep(seconds)  # the pools of the start shrink
        with psycopg.connect(url, autocommit=True) as connection:
            figures |= idle(connection, server, seconds, workers)
            figures |= restarted(server, url, workers)
        with psycopg.connect(url, autocommit=True) as connection:
            figures |= shared(connection, jobs)
        for child in children:
            child.go()
        said = [child.finish() for child in children]
    figures["picks"] = sum(each["picks"] for each in said)
    figures["picks that claimed nothing"] = sum(each["empty"] for each in said)
    return figures


def idle(connection: Any, server: Server, seconds: float, workers: int) -> dict[str, Any]:
    postmaster = int((server.data / "postgres" / "postmaster.pid").read_text().split()[0])
    committed = "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()"
    count = connection.execute(f"select count(*) from pg_stat_activity {OURS}").fetchone()[0]
    listening = connection.execute(
        f"select count(*) from pg_stat_activity {OURS} and query ilike 'listen%%'"
    ).fetchone()[0]
    before, cpu, began = connection.execute(committed).fetchone()[0], Cpu.of([], postmaster), time.monotonic()
    time.sleep(seconds)
    connection.execute("select pg_stat_force_next_flush()")
    took = time.monotonic() - began
    used = Cpu.of([], postmaster) - cpu
    statements = (connection.execute(committed).fetchone()[0] - before) / took
    return {
        "connections": count,
        "connections a worker": count / workers,
        "last statement LISTEN": listening,
        "idle transactions a second": statements,
        "idle transactions a second, a worker": statements / workers,
        "idle Postgres CPU, % of a core": 100 * used.postgres / took,
    }


def restarted(server: Server, url: str, workers: int) -> dict[str, Any]:
    """Restart Postgres, and return how the first connections of the workers spread."""
    server.stop()
    server.start()
    deadline = time.monotonic() + 120
    with psycopg.connect(url, autocommit=True) as connection:
        while time.monotonic() < deadline:
            starts = [float(row[0]) for row in connection.execute(STARTS)]
            if len(starts) >= 2 * workers:
                break
            time.sleep(0.5)
    buckets: dict[int, int] = {}
    for start in starts:
        buckets[int(start * 10)] = buckets.get(int(start * 10), 0) + 1
    return {
        "connections after the restart": len(starts),
        "from the first to the last, s": starts[-1] - starts[0] if starts else 0.0,
        "most in one tenth of a second": max(buckets.values(), default=0),
    }


def shared(connection: Any, jobs: int) -> dict[str, Any]:
    """Let all workers share one queue, and check that no job was claimed twice."""
    connection.execute(
        "insert into kairos.gen_durable (fsm, step, state, queue, eligible_at, inserted_at, updated_at) "
        "select 'nothing', 'run', '{}', 'shared', now(), now(), now() from generate_series(1, %s)",
        (jobs,),
    )
    deadline = time.monotonic() + 300
    left = "select count(*) from kairos.gen_durable where completed_at is null"
    while connection.execute(left).fetchone()[0] and time.monotonic() < deadline:
        time.sleep(0.2)
    done = connection.execute("select count(*) from kairos.gen_durable where status = 'done'").fetchone()[0]
    twice = connection.execute("select count(*) from kairos.gen_durable where lease > 1").fetchone()[0]
    return {"jobs": jobs, "done": done, "claimed more than once": twice}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        import os

        asyncio.run(run_workers(os.environ["KAIROS_DATABASE_URL"], given.child))
        return
    for name, value in measure(given.workers, given.processes, given.seconds, given.jobs).items():
        print(f"{name:42} {value:,.2f}" if isinstance(value, float) else f"{name:42} {value:,}")


if __name__ == "__main__":
    main()
