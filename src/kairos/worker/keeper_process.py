"""Supervise the worker's keeper process: start it, read its messages, and restart it if it dies or hangs."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kairos.logger import Logger
from kairos.store import connection_settings
from kairos.store.async_store import AsyncStore
from kairos.store.connection_settings import Deadlines
from kairos.store.hosts import Hosts
from kairos.worker import keeper
from kairos.worker.leases import Leases
from kairos.worker.outage import Outage

log = Logger("kairos.worker")

_STATEMENTS = ("renew_leases", "release_unheld", "reap_jobs", "remove_worker", "notify_queues")
# A line names every lost lease: with thousands of running steps, more than the default limit of 64 KiB.
_LONGEST_LINE = 1 << 24
# How long a keeper may take to end: it may be in the middle of a statement.
_CLOSE_TIMEOUT = 5.0


class KeeperProcess:
    """Keeps one keeper process alive for as long as the worker runs."""

    def __init__(
        self,
        store: AsyncStore,
        worker: str,
        leases: Leases,
        lease: float,
        on_lost: Callable[[list[tuple[int, int]]], None],
        on_cancelled: Callable[[list[int]], None],
    ) -> None:
        deadlines = Deadlines(lease)
        self.config: dict[str, Any] = {
            "url": store.url,
            "hosts": Hosts(store.url).candidates(),
            "options": connection_settings.libpq_arguments(
                store.url,
                connection_settings.keeper_settings(deadlines),
                deadlines,
                prepare=store.settings.prepare,
            ),
            "answer_timeout": deadlines.renewal,
            "sql": {name: store.sql[name] for name in _STATEMENTS},
            "worker": worker,
            "pid": os.getpid(),
            "lease": lease,
            "interval": lease / 3,
            "fd": leases.fd,
        }
        self._on_lost = on_lost
        self._on_cancelled = on_cancelled
        self.process: asyncio.subprocess.Process | None = None
        self.outage = Outage()  # shared with the loops of the worker

    async def start(self) -> None:
        """Start the keeper; from now on the worker's jobs are handed back if it dies."""
        self.process = await self._start()

    async def run(self) -> None:
        while True:
            try:
                if self.process is None or self.process.returncode is not None:
                    await self.start()
                assert self.process is not None
                await self._listen(self.process)
                await self.process.wait()
                log.error("the keeper died and is started again", code=self.process.returncode)
            except (OSError, ValueError) as error:
                # The keeper could not be started, or died in the middle of a message.
                log.error("the keeper is started again", error=str(error))
            await asyncio.sleep(0.1)

    @property
    def is_stopped(self) -> bool:
        """Whether a signal such as SIGSTOP stopped the keeper, which then renews nothing."""
        return (
            self.process is not None
            and self.process.returncode is None
            and keeper.is_stopped(self.process.pid)
        )

    def replace(self) -> None:
        """Kill a keeper that hangs; `run` starts another."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()

    async def stop(self, *, settled: bool = True) -> None:
        """End the keeper. Unless `settled`, it stays until it has handed back the jobs that the worker still holds."""
        if self.process is None or self.process.returncode is not None:
            return
        if self.process.stdin is not None:
            if settled:
                self.process.stdin.write(b"bye\n")
            self.process.stdin.close()
        if settled:
            try:
                async with asyncio.timeout(_CLOSE_TIMEOUT):
                    await self.process.wait()
                    # To its end, or the event loop may close before it has closed the pipe.
                    if self.process.stdout is not None:
                        await self.process.stdout.read()
            except TimeoutError:
                log.error("the keeper does not answer and is ended")
                self.replace()

    async def _start(self) -> asyncio.subprocess.Process:
        # A session of its own: a Ctrl-C must not end the keeper before the worker.
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            str(Path(keeper.__file__)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=[self.config["fd"]],
            start_new_session=True,
            limit=_LONGEST_LINE,
        )
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(self.config).encode() + b"\n")
            await process.stdin.drain()
        except (OSError, RuntimeError) as error:
            # A signal to the process group ended it before it had its own session; `run` starts another.
            log.warning("the keeper died while it started", error=str(error))
        return process

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            message: dict[str, Any] = json.loads(line)
            if error := message.get("error"):
                say = log.debug if self.outage.is_open else log.warning
                say("the keeper cannot renew", error=error)
            if lost := message.get("lost"):
                self._on_lost(lost)
            if cancelled := message.get("cancelled"):
                self._on_cancelled(cancelled)
