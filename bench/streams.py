"""Measure how long a log line takes from a step to a client that follows the job, each in a process of its own.

`python -m bench.streams` is the service; it prints its port, then `ready`, and ends at the end of its input.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import sys
import time

import structlog
import uvloop

from bench.database import Databases
from bench.drains import kairos_workers
from bench.processes import Child
from bench.run_size import Figures, percentile
from bench.worker_actions import app, talker
from kairos.api import ServiceSettings, build
from kairos.api.server import Server, listen


def delivery(databases: Databases, lines: int, pause: float, readers: int) -> Figures:
    """Return the milliseconds from `ctx.log` to a reader, while others follow the same job."""
    database = databases.get()
    (worker,) = kairos_workers(database.url, 1)
    service = Child(database.url, "-m", "bench.streams")
    try:
        port = service.read_json()["port"]
        service.ready()
        waits = asyncio.run(_follow(database.url, port, lines, pause, readers))
    finally:
        service.finish()
        worker.finish()
        database.clear()
    return {f"p{100 * share:.0f}": percentile(waits, share) for share in (0.5, 0.95, 0.99)}


async def _follow(url: str, port: int, lines: int, pause: float, readers: int) -> list[float]:
    async with type(app)(url) as client:
        client.registry = app.registry
        job = await client.enqueue(talker.call(lines=lines, pause=pause))
        every = await asyncio.gather(*(_read(port, job.id) for _ in range(readers)))
    waits = [wait for each in every for wait in each]
    if len(waits) != lines * readers:
        raise RuntimeError(f"{readers} readers heard {len(waits)} lines of {lines} each")
    return waits


async def _read(port: int, job: int) -> list[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /api/jobs/{job}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    waits = []
    async for line in reader:
        if line.startswith(b"data: ") and b'"said"' in line:
            waits.append(1000 * (time.monotonic() - json.loads(line[6:])["fields"]["said"]))
    writer.close()
    return waits


async def main() -> None:
    # A line for each request would fill the pipe that nobody reads.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    settings = ServiceSettings(open=True, port=0)
    listening: socket.socket = listen(settings.host, 0)
    async with app:
        server = Server(build(app, settings), settings)
        serving = asyncio.create_task(server.run(listening))
        await server.wait_until_started()
        print(json.dumps({"port": listening.getsockname()[1]}), flush=True)
        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        server.stop()
        await serving


if __name__ == "__main__":
    uvloop.run(main())
