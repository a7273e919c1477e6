"""Measure rates and latencies of the HTTP service: one process, with callers on persistent connections."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench.database import Databases
from bench.processes import Child
from bench.run_size import Figures, percentile

_CALLERS = 16
_BATCH = 100
_NOOP = {"action": "noop", "input": {"n": 1}}
# Filters by what they find; each list comes from an index or from a bounded scan.
FILTERS = {
    "nothing": "",
    "a state of few": "state=failed",
    "a state of many": "state=scheduled",
    "an action": "action=noop",
    "no such action": "action=nobody",
    "a queue": "queue=default",
    "no such queue": "queue=nowhere",
    "a key": "key=hot",
    "a tag": "tag=nothing",
    "text": "text=zzz",
    "a time": "from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z",
    "all of it": "state=pending&action=noop&queue=default&tag=x&text=y",
}


def requests(databases: Databases, seconds: float, rate: int) -> Figures:
    """Return the milliseconds of `POST /api/jobs` at a steady rate."""
    with _served(databases, "none") as port:
        # Connections to the database are opened by the first requests.
        asyncio.run(_steadily(port, 2.0, rate))
        waits = asyncio.run(_steadily(port, seconds, rate))
    return {f"p{100 * share:.0f}": percentile(waits, share) for share in (0.5, 0.95, 0.99)}


def batches(databases: Databases, seconds: float) -> float:
    """Return how many jobs a second are accepted in batches of a hundred."""
    with _served(databases, "none") as port:
        return asyncio.run(_batches(port, seconds))


def lists(databases: Databases, times: int) -> Figures:
    """Return the 95th percentile in milliseconds of `GET /api/jobs` by filter, with all backlogs in the table."""
    with _served(databases, "all") as port:
        return asyncio.run(_lists(port, times))


@contextmanager
def _served(databases: Databases, kind: str) -> Iterator[int]:
    database = databases.get(kind)
    service = Child(database.url, "-m", "bench.streams")
    try:
        port: int = service.read_json()["port"]
        service.ready()
        yield port
    finally:
        service.finish()
        database.clear()


async def _steadily(port: int, seconds: float, rate: int) -> list[float]:
    began, count = time.monotonic(), int(seconds * rate)
    waits: list[float] = []

    async def call(first: int) -> None:
        caller = await Caller.to(port)
        for turn in range(first, count, _CALLERS):
            await asyncio.sleep(max(0.0, began + turn / rate - time.monotonic()))
            waits.append(await caller.ask("POST", "/api/jobs", _NOOP))
        caller.close()

    await asyncio.gather(*(call(first) for first in range(_CALLERS)))
    return waits


async def _batches(port: int, seconds: float) -> float:
    began, done = time.monotonic(), 0

    async def call() -> None:
        nonlocal done
        caller = await Caller.to(port)
        while time.monotonic() - began < seconds:
            await caller.ask("POST", "/api/jobs/batch", {"jobs": [_NOOP] * _BATCH})
            done += _BATCH
        caller.close()

    await asyncio.gather(*(call() for _ in range(4)))
    return done / (time.monotonic() - began)


async def _lists(port: int, times: int) -> Figures:
    caller = await Caller.to(port)
    figures: Figures = {}
    for name, query in FILTERS.items():
        waits = [await caller.ask("GET", f"/api/jobs?{query}") for _ in range(times)]
        figures[name] = percentile(waits, 0.95)
    caller.close()
    return figures


class Caller:
    """One connection that sends a request and waits for its response; raise unless it succeeds."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def to(cls, port: int) -> Caller:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(self, method: str, path: str, body: Any = None) -> float:
        """Send a request; return the milliseconds until the whole response has arrived."""
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        began = time.monotonic()
        self._writer.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in answer.split(b"\r\n")[1:-2])
        said = await self._reader.readexactly(int(fields[b"content-length"]))
        waited = 1000 * (time.monotonic() - began)
        if not answer.startswith(b"HTTP/1.1 20"):
            raise RuntimeError(f"{method} {path}: {said[:500]!r}")
        return waited

    def close(self) -> None:
        self._writer.close()
