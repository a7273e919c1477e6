"""The processes of Kairos: `python -m cluster.program <role> <JSON>` is a worker, the service or a client.

A worker and the service are those of `chaos/program.py`. Each worker also serves a queue of its own, in which one job
commits a step again and again, so that every pause of the worker is seen. A client enqueues jobs at a steady rate and
records which were acknowledged; it pauses while the file `pause` is in the folder.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any

from chaos import program
from chaos.journal import Journal

from kairos import Context, Done, Kairos, KairosError, Next, SyncKairos, step
from kairos.remote import KairosClient

KEYS = (*(None for _ in range(16)), *(f"key-{n}" for n in range(8)))
PAUSE = "pause"
_BEAT = 0.05  # seconds between two steps of `heartbeat`
_MOST_WAITING = 200  # requests of one client that wait for their answers

Ask = Callable[[dict[str, Any], dict[str, Any]], Awaitable[Any]]


def declare_heartbeat(app: Kairos | SyncKairos) -> None:
    @app.machine("heartbeat", retry=program.RETRY)
    class Heartbeat:
        """Counts its steps until the clients pause."""

        @step
        async def work(self, ctx: Context) -> Any:
            await asyncio.sleep(_BEAT)
            if (Path(os.environ[program.MARK]) / PAUSE).exists():
                return Done()
            return Next("work", {"n": ctx.state["n"] + 1})


def work(folder: str, url: str, connecting: dict[str, Any], queue: str) -> None:
    """Run a worker with the default settings, except its queues and how many steps it runs at once."""
    if "FAKETIME" in os.environ:
        # libfaketime shifts the end of a sleep too, although it is configured to leave the monotonic clock alone.
        time.sleep = lambda seconds: threading.Event().wait(seconds)  # type: ignore[assignment]
    settings = {"concurrency": 8, "queues": {**program.QUEUES, queue: None}}
    program.work(url, Path(folder), settings, program.NEW, None, connecting, declare_heartbeat)


def serve(folder: str, url: str, connecting: dict[str, Any], port: int) -> None:
    program.serve_http(url, Path(folder), port, connecting)


def ask(folder: str, name: str, rate: float, url: str = "", service: str = "") -> None:
    """Run a client of the database at `url`, or of the service."""

    async def main() -> None:
        journal = Journal(Path(folder) / "journal")
        async with AsyncExitStack() as stack:
            if service:
                client = await stack.enter_async_context(KairosClient(service, timeout=10, tries=1))
                await _enqueue_steadily(
                    folder, name, rate, journal, lambda o, s: client.options(**o).enqueue("walk", **s)
                )
            else:
                app = await stack.enter_async_context(program.build(url, journal))
                walk = app.action("walk")
                await _enqueue_steadily(
                    folder, name, rate, journal, lambda o, s: walk.options(**o).enqueue(**s)
                )

    asyncio.run(main())


async def _enqueue_steadily(folder: str, name: str, rate: float, journal: Journal, enqueue: Ask) -> None:
    waiting: set[asyncio.Task[None]] = set()

    async def one(number: int) -> None:
        token, key = f"{name}-{number}", KEYS[number % len(KEYS)]
        journal.write("ask", token=token)
        try:
            job = await enqueue({"tags": [token], "key": key}, {"n": 0, "key": key})
        except KairosError as error:
            journal.write("info", token=token, error=str(error))
        else:
            journal.write("ack", job=job.id, token=token, action="walk", key=key, client=name)

    began = time.monotonic()
    for number in count():
        # At the times that the rate gives; requests that a pause left out are not sent later.
        began = max(began + 1 / rate, time.monotonic() - 1)
        await asyncio.sleep(max(0.0, began - time.monotonic()))
        if (Path(folder) / PAUSE).exists() or len(waiting) >= _MOST_WAITING:
            continue
        task = asyncio.create_task(one(number))
        waiting.add(task)
        task.add_done_callback(waiting.discard)


if __name__ == "__main__":
    role, arguments = {"work": work, "serve": serve, "ask": ask}[sys.argv[1]], json.loads(sys.argv[2])
    role(**arguments)
