"""Supervise worker processes: start them, restart them when they die, and exit after they have exited."""

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

from kairos.cli.log_output import Format, Level
from kairos.cli.worker_process import KILLED, LEFT, RELOAD, WorkerOptions
from kairos.logger import Logger
from kairos.worker.loop import backoff

log = Logger("kairos.cli")

# After this many seconds a death is not considered a failed start.
_SETTLED = 10.0


@dataclass(frozen=True, slots=True)
class ChildOptions:
    """The configuration of a child process, passed on its command line."""

    app: str
    options: WorkerOptions
    log_format: Format
    log_level: Level
    reload: bool = False
    listening: int | None = None  # a socket kept over restarts of the child

    def command(self, alive: int) -> list[str]:
        # -P: modules in the current folder must not shadow the standard library.
        ask = json.dumps({**asdict(self), "alive": alive})
        return [sys.executable, "-P", "-m", "kairos.cli.worker_child", ask]


class Supervisor:
    """Runs `count` children. They exit when it does, even by kill -9, which closes the pipe they watch."""

    def __init__(self, options: ChildOptions, count: int) -> None:
        self._options = options
        self._count = count
        self._children: set[Process] = set()
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        """Keep the children alive until a signal, then wait for them; return the worst of their exit codes."""
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
            kept = [each for each in (alive, self._options.listening) if each is not None]
            child = await asyncio.create_subprocess_exec(*self._options.command(alive), pass_fds=kept)
            self._children.add(child)
            if self._stopping.is_set():  # a signal arrived during its start
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
            os._exit(KILLED)  # the keepers hand back the running jobs


def _close(files: Iterable[int]) -> None:
    for file in files:
        os.close(file)
