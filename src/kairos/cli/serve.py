"""Runs a worker in this process until it is told to stop."""

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

import structlog

from kairos.app import Kairos
from kairos.cli.load import Loaded
from kairos.cli.watch import Watch
from kairos.durations import Duration

log = structlog.get_logger("kairos.cli")
T = TypeVar("T")
# What runs beside a worker for as long as it runs: the service, in `kairos dev`.
Beside: TypeAlias = Callable[[Kairos], AbstractAsyncContextManager[None]]

KILLED = 130  # what a shell says of a command ended by Ctrl-C
RELOAD = 3  # a supervised worker's way to ask for a fresh process
LEFT = 4  # and to say that it was asked to leave, so that none is started in its place
_BUSY_THREAD = "kairos-step"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """What a worker is asked for; without queues it serves those of its machines."""

    queues: dict[str, int | None] | None = None
    concurrency: int = 20
    grace: Duration = 30
    lease: Duration = 30
    poll: Duration = 1
    retention: Duration = "7d"


class Stop:
    """The first signal asks to end in good order, the second ends at once."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._signalled = False
        self._supervised = False
        self.code = 0

    def listen(self, *, supervised: int | None = None) -> None:
        """Hear the signals; a supervised worker hears its parent's, and the end of its parent.

        Not through the event loop: a step that blocks it must not keep the second signal from being heard.
        """
        self._loop = asyncio.get_running_loop()
        signal.signal(signal.SIGTERM, self._signal)
        if supervised is None:
            signal.signal(signal.SIGINT, self._signal)
            return
        # A Ctrl-C reaches the whole group, and a service manager's SIGTERM every process of it besides the
        # parent's own: the parent decides what they mean. A handler and not SIG_IGN, which programs that a
        # step starts would inherit.
        self._supervised = True
        signal.signal(signal.SIGINT, lambda *_: None)
        self._loop.add_reader(supervised, self._orphaned, supervised)

    def ask(self, code: int = 0) -> None:
        self.code = code
        self._asked.set()

    async def wait(self) -> None:
        await self._asked.wait()

    @property
    def asked(self) -> bool:
        return self._asked.is_set()

    def _signal(self, *_: object) -> None:
        if self._signalled and not self._supervised:
            os._exit(KILLED)  # the keeper hands back what ran
        self._signalled = True
        self._loop.call_soon_threadsafe(self._end_in_good_order)

    def _end_in_good_order(self) -> None:
        log.info("stopping: what runs may finish, a second signal ends it at once")
        self.ask()

    def _orphaned(self, pipe: int) -> None:
        self._loop.remove_reader(pipe)
        log.error("the parent process is gone: stopping")
        self.ask()


async def serve(
    loaded: Loaded,
    options: WorkerOptions,
    *,
    supervised: int | None = None,
    watch: Watch | None = None,
    beside: Beside | None = None,
) -> int:
    """Run a worker until a signal or a change of what is watched; answers the exit code."""
    stop = Stop()
    stop.listen(supervised=supervised)
    async with AsyncExitStack() as stack:
        kairos = await open_all(loaded, stack)
        if beside is not None:
            await stack.enter_async_context(beside(kairos))
        if watch is not None:
            reloading = asyncio.create_task(_reload(watch, stop))
            stack.callback(reloading.cancel)
        if not stop.asked:
            async with kairos.worker(**asdict(options)) as worker:
                await _first(stop.wait(), worker.left.wait())
                if worker.left.is_set() and supervised is not None:
                    stop.ask(LEFT)
    return stop.code


async def wait_for_change(
    watch: Watch, *, supervised: int, kairos: Kairos | None = None, beside: Beside | None = None
) -> int:
    """What a worker does whose app cannot be loaded: wait until somebody mends it, and serve meanwhile."""
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
    """Run it on the fastest event loop there is."""
    with asyncio.Runner(loop_factory=_fast_loop()) as runner:
        return runner.run(main)


def leave(code: int) -> int:
    """End the process if a step's thread, whose job is given back by now, would keep it alive."""
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
    except ImportError:  # it is not made for every platform
        return None
    return new_event_loop


async def open_all(loaded: Loaded, stack: AsyncExitStack) -> Kairos:
    """Every app, open for what its steps ask of it, and the one whose registry knows all machines."""
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
    """Until the first of them is done."""
    tasks = [asyncio.create_task(one) for one in each]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()


async def _reload(watch: Watch, stop: Stop) -> None:
    log.info("reloading", changed=str(await watch.changed()))
    stop.ask(RELOAD)
