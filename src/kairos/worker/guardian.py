"""The worker's side of its keeper: starts it, listens to it, starts it again if it dies."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kairos.store.pool import AsyncStore
from kairos.worker import keeper
from kairos.worker.leases import Leases
from kairos.worker.logs import Log

log = Log("kairos.worker")

_STATEMENTS = ("renew_leases", "release_unheld", "reap_jobs", "remove_worker", "notify_queues")
# One line names every lease lost at once: more than a stream's usual 64 KiB where thousands of steps run.
_LONGEST_LINE = 1 << 24


class Guardian:
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
        self._config: dict[str, Any] = {
            "url": store.url,
            "sql": {name: store.sql[name] for name in _STATEMENTS},
            "worker": worker,
            "pid": os.getpid(),
            "lease": lease,
            "beat": lease / 3,
            "fd": leases.fd,
        }
        self._on_lost = on_lost
        self._on_cancelled = on_cancelled
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """From here on, this process may die: what it picks is handed back."""
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
                # It cannot be started, or died in the middle of a sentence.
                log.error("the keeper is started again", error=str(error))
            await asyncio.sleep(0.1)

    async def stop(self, *, settled: bool = True) -> None:
        """Part in good order: nothing is handed back. Not `settled`, the keeper stays and tries."""
        if self.process is None or self.process.returncode is not None:
            return
        if self.process.stdin is not None:
            if settled:
                self.process.stdin.write(b"bye\n")
            self.process.stdin.close()
        if settled:
            await self.process.wait()

    async def _start(self) -> asyncio.subprocess.Process:
        # A session of its own: a Ctrl-C meant for the worker must not take its keeper first.
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            str(Path(keeper.__file__)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=[self._config["fd"]],
            start_new_session=True,
            limit=_LONGEST_LINE,
        )
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(self._config).encode() + b"\n")
            await process.stdin.drain()
        except (OSError, RuntimeError) as error:
            # A signal to our whole group met it before it had a session of its own; `run` starts another.
            log.warning("the keeper died at birth", error=str(error))
        return process

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            message: dict[str, Any] = json.loads(line)
            if error := message.get("error"):
                log.warning("the keeper cannot renew", error=error)
            if lost := message.get("lost"):
                self._on_lost(lost)
            if cancelled := message.get("cancelled"):
                self._on_cancelled(cancelled)
