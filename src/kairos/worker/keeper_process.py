"""Supervise the worker's keeper process: start it, read its messages, and restart it if it dies or hangs."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
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

_STATEMENTS = ("renew_leases", "release_unstarted", "reap_jobs", "remove_worker", "notify_queues")
# A line names every lost lease: with thousands of running steps, more than the default limit of 64 KiB.
_LONGEST_LINE = 1 << 24
# How long a keeper may take to end: it may be in the middle of a statement.
_CLOSE_TIMEOUT = 5.0
# Seconds between two looks whether a keeper that was asked to end has ended.
_POLL = 0.005
# Keepers that still hand back jobs although their worker has stopped: kept here until they have ended and are reaped.
_left: list[subprocess.Popen[bytes]] = []


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
        # Not a process of asyncio: the keeper may outlive the event loop, to hand back the jobs of a stopped worker.
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: asyncio.BaseTransport | None = None
        self._messages = asyncio.StreamReader()
        self.outage = Outage()  # shared with the loops of the worker

    async def start(self) -> None:
        """Start the keeper; from now on the worker's jobs are handed back if it dies."""
        if self._process is not None:
            self._close_stdin()
        self._process = subprocess.Popen(  # noqa: ASYNC220 (asyncio forks in the same way)
            [sys.executable, "-P", str(Path(keeper.__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[self.config["fd"]],
            start_new_session=True,  # a Ctrl-C must not end the keeper before the worker
        )
        if self._pipe is not None:
            self._pipe.close()
        self._messages = asyncio.StreamReader(_LONGEST_LINE)
        self._pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._messages), self._process.stdout
        )
        try:
            self._send(json.dumps(self.config).encode())
        except OSError as error:
            # A signal to the process group ended it before it had its own session; `run` starts another.
            log.warning("the keeper died while it started", error=str(error))

    async def run(self) -> None:
        while True:
            try:
                if self._process is None or self._process.poll() is not None:
                    await self.start()
                await self._listen()
                log.error("the keeper died and is started again", code=await self._wait())
            except (OSError, ValueError) as error:
                # The keeper could not be started, or died in the middle of a message.
                log.error("the keeper is started again", error=str(error))
            await asyncio.sleep(0.1)

    @property
    def is_stopped(self) -> bool:
        """Whether a signal such as SIGSTOP stopped the keeper, which then renews nothing."""
        return (
            self._process is not None
            and self._process.poll() is None
            and keeper.is_stopped(self._process.pid)
        )

    def replace(self) -> None:
        """Kill a keeper that hangs; `run` starts another."""
        if self._process is not None:
            self._process.kill()

    async def stop(self, *, settled: bool = True) -> None:
        """End the keeper. Unless `settled`, it stays until it has handed back the jobs that the worker still holds."""
        _left[:] = [each for each in _left if each.poll() is None]
        if self._process is None:
            return
        if settled:
            with suppress(OSError):  # it has died
                self._send(b"bye")
        self._close_stdin()
        try:
            if settled:
                await self._end()
        finally:
            if self._process.poll() is None:
                _left.append(self._process)
            if self._pipe is not None:
                self._pipe.close()
        await asyncio.sleep(0)  # the event loop closes the pipe in its next turn

    async def _end(self) -> None:
        """Wait until the keeper has ended, and end one that does not answer."""
        try:
            async with asyncio.timeout(_CLOSE_TIMEOUT):
                await self._wait()
        except TimeoutError:
            log.error("the keeper does not answer and is ended")
            self.replace()

    def _close_stdin(self) -> None:
        assert self._process is not None and self._process.stdin is not None
        with suppress(OSError):  # it has died without reading all of it
            self._process.stdin.close()

    async def _wait(self) -> int:
        """Wait until the keeper has ended; return its exit code."""
        assert self._process is not None
        while (code := self._process.poll()) is None:
            await asyncio.sleep(_POLL)
        return code

    def _send(self, line: bytes) -> None:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    async def _listen(self) -> None:
        async for line in self._messages:
            message: dict[str, Any] = json.loads(line)
            if error := message.get("error"):
                say = log.debug if self.outage.is_open else log.warning
                say("the keeper cannot renew", error=error)
            if lost := message.get("lost"):
                self._on_lost(lost)
            if cancelled := message.get("cancelled"):
                self._on_cancelled(cancelled)
