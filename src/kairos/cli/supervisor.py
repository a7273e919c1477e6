"""Keeps worker processes alive beside this one, and ends when they have ended."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass

import structlog

from kairos.cli.logs import Format
from kairos.cli.serve import KILLED, LEFT, RELOAD, WorkerOptions
from kairos.worker.loop import backoff

log = structlog.get_logger("kairos.cli")

# A process that lived this long did not die of how it was started.
_SETTLED = 10.0


@dataclass(frozen=True, slots=True)
class Order:
    """What a child process is to do; it reads it from its command line."""

    app: str
    options: WorkerOptions
    log_format: Format
    reload: bool = False
    listening: int | None = None  # a socket that every child in turn serves on, so that none is ever refused

    def command(self, alive: int) -> list[str]:
        # -P: the folder we stand in must not hide the standard library from the child.
        ask = json.dumps({**asdict(self), "alive": alive})
        return [sys.executable, "-P", "-m", "kairos.cli.child", ask]


class Supervisor:
    """Runs `count` children. They end with it: also by kill -9, which closes the pipe they listen to."""

    def __init__(self, order: Order, count: int) -> None:
        self._order = order
        self._count = count
        self._children: set[Process] = set()
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        """Until a signal, keep them alive; then wait for them, and answer the worst of their exit codes."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signal)
        alive, ours = os.pipe()
        try:
            return max(await asyncio.gather(*(self._keep(alive) for _ in range(self._count))))
        finally:
            _close((alive, ours))

    async def _keep(self, alive: int) -> int:
        failures = 0
        while True:
            started = asyncio.get_running_loop().time()
            kept = [each for each in (alive, self._order.listening) if each is not None]
            child = await asyncio.create_subprocess_exec(*self._order.command(alive), pass_fds=kept)
            self._children.add(child)
            if self._stopping.is_set():  # the signal came while it was being started
                child.terminate()
            code = await child.wait()
            self._children.discard(child)
            if self._stopping.is_set():
                return 0 if code == -signal.SIGTERM else abs(code)
            if code == RELOAD:
                continue
            if code == LEFT:
                return 0
            settled = asyncio.get_running_loop().time() - started > _SETTLED
            failures = 0 if settled else failures + 1
            pause = backoff(failures)
            log.error(
                "a worker process died and is started again", pid=child.pid, code=code, pause=round(pause, 2)
            )
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)
                return 0

    def _signal(self) -> None:
        again = self._stopping.is_set()
        self._stopping.set()
        for child in self._children:
            with suppress(ProcessLookupError):
                child.kill() if again else child.terminate()
        if again:
            os._exit(KILLED)  # the keepers hand back what ran


def _close(files: Iterable[int]) -> None:
    for file in files:
        os.close(file)
