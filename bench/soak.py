"""Check that nothing grows in a long run at a steady rate with a short retention.

    python -m bench.soak --minutes 60 --rate 1000 --retention 10m

One client enqueues a tenth of the rate every tenth of a second, one worker runs the jobs, and retention deletes them.
Each minute is a sample: memory and open files of both processes, connections, the size of every table with its indexes,
and how long jobs waited for the worker. A run is longer than its retention, so all must be flat in its second half.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import time
from datetime import date
from statistics import median
from typing import Any

import asyncpg
from chaos.growth import Growth

from bench.database import Databases
from bench.demo import Program, free_port, steadily
from bench.processes import flush_ms
from bench.worker_actions import noop
from kairos import Kairos

_MACHINES = "bench/worker_actions.py:app"
_SMALL = 1 << 20  # bytes of a table that need no line
_CALLS = 10  # of `enqueue_many`, a second
_WAITS = """
select count(*) as ended, percentile_cont(0.5) within group (order by started_at - due_at) as p50,
  percentile_cont(0.99) within group (order by started_at - due_at) as p99
from kairos.history where verb = 'done' and at > now() - interval '10 seconds' and due_at is not null
"""
_JOBS = "select count(*) from kairos.gen_durable"
_NOT_ENDED = "select count(*) from kairos.gen_durable where completed_at is null"


class Soak:
    """A run: its processes and its samples."""

    def __init__(self, url: str, rate: float, retention: str) -> None:
        self._url, self._batch = url, int(rate / _CALLS)
        port = free_port()
        self._worker = Program(
            url, "worker", _MACHINES, "--retention", retention, "--health", f"127.0.0.1:{port}", port=port
        )
        self._growth = Growth(lambda: url, self._processes)
        self._waits: list[dict[str, float]] = []
        self._enqueued = 0

    async def run(self, seconds: float, every: float) -> dict[str, Any]:
        await self._worker.start()
        try:
            async with Kairos(self._url) as app:

                async def add(turn: int) -> None:
                    calls = (noop.call(n=turn) for _ in range(self._batch))
                    self._enqueued += len(await app.enqueue_many(calls))

                sampling = [
                    asyncio.create_task(self._growth.run(every)),
                    asyncio.create_task(self._sample_waits(every)),
                ]
                await steadily(_CALLS, time.monotonic() + seconds, add)
                for each in sampling:
                    each.cancel()
                await asyncio.gather(*sampling, return_exceptions=True)
                return await self._figures()
        finally:
            await self._worker.end(signal.SIGTERM)

    def _processes(self) -> dict[str, list[int]]:
        return {"worker": [self._worker.process.pid], "client": [os.getpid()]}

    async def _sample_waits(self, every: float) -> None:
        connection = await asyncpg.connect(self._url)
        while True:
            await asyncio.sleep(every)
            row = await connection.fetchrow(_WAITS)
            found = {"ended a second": row["ended"] / 10}
            for name in ("p50", "p99"):
                found[f"{name} ms"] = round(1000 * row[name].total_seconds(), 2) if row[name] else 0.0
            self._waits.append({**found, "jobs in the table": await connection.fetchval(_JOBS)})

    async def _figures(self) -> dict[str, Any]:
        connection = await asyncpg.connect(self._url)
        deadline = time.monotonic() + 60
        while (left := await connection.fetchval(_NOT_ENDED)) and time.monotonic() < deadline:
            await asyncio.sleep(0.2)
        await connection.close()
        return {
            "enqueued": self._enqueued,
            "not ended": left,
            "grows": list(self._growth.violations()),
            "samples": {
                f"{what}: {of}": _thirds(values)
                for (what, of), values in sorted(self._growth.samples.items())
                if what != "table" or max(values) >= _SMALL
            },
            "waits": {name: _thirds([each[name] for each in self._waits]) for name in self._waits[0]},
        }


def _thirds(values: list[Any]) -> str:
    """Return the median of each third of a run, and its last value."""
    third = max(1, len(values) // 3)
    parts = (values[:third], values[third : 2 * third], values[2 * third :])
    medians = " · ".join(f"{median(part):,.6g}" for part in parts if part)
    return f"{medians}; at the end {values[-1]:,.6g}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description="What grows in a long run.")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=1000.0, help="jobs a second")
    parser.add_argument("--retention", default="10m")
    parser.add_argument("--every", type=float, default=60.0, help="seconds between samples")
    chosen = parser.parse_args()
    load = [os.getloadavg()[0]]
    with Databases() as databases:
        soak = Soak(databases.get().url, chosen.rate, chosen.retention)
        figures = asyncio.run(soak.run(60 * chosen.minutes, chosen.every))
    load.append(os.getloadavg()[0])
    figures["machine"] = {
        "date": f"{date.today():%-d %B %Y}",
        "command": "python -m bench.soak " + " ".join(sys.argv[1:]),
        "cores": os.cpu_count(),
        "a flush of the disk ms": round(flush_ms(), 2),
        "load at the start and the end": [round(each, 1) for each in load],
    }
    print(json.dumps(figures, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
