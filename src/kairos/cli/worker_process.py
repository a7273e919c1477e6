"""Run a worker in this process until a signal."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias, TypeVar

from kairos import defaults
from kairos.app import Kairos
from kairos.cli.app_loader import Loaded
from kairos.cli.file_watcher import FileWatcher
from kairos.durations import Duration
from kairos.logger import Logger

log = Logger("kairos.cli")
T = TypeVar("T")
# Something that runs beside a worker, such as the service in `kairos dev`.
Beside: TypeAlias = Callable[[Kairos], AbstractAsyncContextManager[None]]

KILLED = 130  # the exit code after Ctrl-C
RELOAD = 3  # exit code of a supervised worker that asks for a fresh process
LEFT = 4  # exit code of a drained worker, which is not replaced
_BUSY_THREAD = "kairos-step"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """The options of a worker; without queues it serves those of its machines."""

    queues: dict[str, int | None] | None = None
    concurrency: int = defaults.CONCURRENCY
    grace: Duration = defaults.GRACE
    lease: Duration = defaults.LEASE
    poll: Duration = defaults.POLL
    retention: Duration = defaults.RETENTION


class Stop:
    """The stop request: the first signal asks for a graceful end, the second exits at once."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._signalled = False
        self._supervised = False
        self.code = 0

    def listen(self, *, supervised: int | None = None) -> None:
        """Install the signal handlers; a supervised worker also watches for the end of its parent.

        Not through the event loop: a step that blocks it must not delay the second signal.
        """
        self._loop = asyncio.get_running_loop()
        signal.signal(signal.SIGTERM, self._signal)
        if supervised is None:
            signal.signal(signal.SIGINT, self._signal)
            return
        # A Ctrl-C reaches the whole process group, and a service manager signals every process of a service: the
        # parent decides what that means. A handler instead of SIG_IGN, which programs started by a step would
        # inherit.
        self._supervised = True
        signal.signal(signal.SIGINT, lambda *_: None)
        self._loop.add_reader(supervised, self._orphaned, supervised)

    def request(self, code: int = 0) -> None:
        self.code = code
        self._asked.set()

    async def wait(self) -> None:
        await self._asked.wait()

    @property
    def requested(self) -> bool:
        return self._asked.is_set()

    def _signal(self, *_: object) -> None:
        if self._signalled and not self._supervised:
            os._exit(KILLED)  # the keeper hands back the running jobs
        self._signalled = True
        self._loop.call_soon_threadsafe(self._stop_gracefully)

    def _stop_gracefully(self) -> None:
        log.info("stopping: running steps may finish, a second signal ends them at once")
        self.request()

    def _orphaned(self, pipe: int) -> None:
        self._loop.remove_reader(pipe)
        log.error("the parent process is gone: stopping")
        self.request()


async def serve(
    loaded: Loaded,
    options: WorkerOptions,
    *,
    supervised: int | None = None,
    watch: FileWatcher | None = None,
    beside: Beside | None = None,
) -> int:
    """Run a worker until a signal or a change of a watched file; return the exit code."""
    stop = Stop()
    stop.listen(supervised=supervised)
    async with AsyncExitStack() as stack:
        kairos = await open_all(loaded, stack)
        if beside is not None:
            await stack.enter_async_context(beside(kairos))
        if watch is not None:
            reloading = asyncio.create_task(_reload(watch, stop))
            stack.callback(reloading.cancel)
        if not stop.requested:
            async with kairos.worker(**asdict(options)) as worker:
                await _first(stop.wait(), worker.left.wait())
            if worker.left.is_set() and not stop.requested:
                if beside is not None:
                    log.warning(
                        "the worker was drained: the service goes on without it; start again for a new one"
                    )
                    await stop.wait()
                elif supervised is not None:
                    stop.request(LEFT)
    return stop.code


async def wait_for_change(
    watch: FileWatcher, *, supervised: int, kairos: Kairos | None = None, beside: Beside | None = None
) -> int:
    """Wait for a changed file after the app could not be loaded, and run the service meanwhile."""
    stop = Stop()
    stop.listen(supervised=supervised)
    async with AsyncExitStack() as stack:
        reloading = asyncio.create_task(_reload(watch, stop))
        stack.callback(reloading.cancel)
        if kairos is not None and beside is not None:
            await stack.enter_async_context(kairos)
            await stack.enter_async_context(beside(kairos))
        await stop.wait()
    return stop.code


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine on uvloop if that is installed."""
    with asyncio.Runner(loop_factory=_fast_loop()) as runner:
        return runner.run(main)


def exit_if_stuck(code: int) -> int:
    """Return the code, but exit at once if the thread of an abandoned step still runs: its job was handed back."""
    deadline = time.monotonic() + 0.5
    while busy := [each for each in threading.enumerate() if each.name.startswith(_BUSY_THREAD)]:
        if time.monotonic() > deadline:
            log.warning("a step in a thread did not end; its job was given back", threads=len(busy))
            sys.stderr.flush()
            sys.stdout.flush()
            os._exit(code)
        busy[0].join(0.05)
    return code


def _fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        from uvloop import new_event_loop
    except ImportError:  # not available on every platform
        return None
    return new_event_loop


async def open_all(loaded: Loaded, stack: AsyncExitStack) -> Kairos:
    """Open every app, and return the one whose registry has all machines."""
    for app in loaded.apps:
        if isinstance(app, Kairos):
            await stack.enter_async_context(app)
        else:
            stack.enter_context(app)
    if len(loaded.apps) == 1 and isinstance(loaded.apps[0], Kairos):
        return loaded.apps[0]
    settings = loaded.settings
    kairos = Kairos(settings.database_url, **settings.others)
    kairos.registry = loaded.registry
    kairos.declared = [each for app in loaded.apps for each in app.declared]
    return await stack.enter_async_context(kairos)


async def _first(*each: Coroutine[Any, Any, Any]) -> None:
    """Wait until the first of them is done."""
    tasks = [asyncio.create_task(one) for one in each]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()


async def _reload(watch: FileWatcher, stop: Stop) -> None:
    log.info("reloading", changed=str(await watch.changed()))
    stop.request(RELOAD)
