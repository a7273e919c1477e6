"""`drain`: run all due jobs in this process, through the real SQL and without a worker."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, TypeVar, overload

from kairos.actions.chain import with_chains
from kairos.alarms.thresholds import LIVE_FOR
from kairos.app import Kairos, SyncKairos
from kairos.fsm.lifecycle import LIVE
from kairos.machine.context import Context
from kairos.operations.queues_and_workers import MOST_COUNTED, MOST_PRIORITIES
from kairos.store.query import Query
from kairos.worker import step_logging
from kairos.worker.claim import Claim
from kairos.worker.clusters.pool import Clusters
from kairos.worker.executor import Executor
from kairos.worker.flusher import Flusher
from kairos.worker.inbox import Inboxes
from kairos.worker.leases import Leases
from kairos.worker.log_writer import LogWriter
from kairos.worker.picker import Picker
from kairos.worker.settle import Settlement
from kairos.worker.step_failures import since_start_in
from kairos.worker.sweeper import Sweeper
from kairos.worker.transaction import StepTransaction, session_name

NAME = "drain"
T = TypeVar("T")
_LEASE = timedelta(hours=1)


@overload
def drain(app: Kairos, *, limit: int = ...) -> Coroutine[Any, Any, int]: ...
@overload
def drain(app: SyncKairos, *, limit: int = ...) -> int: ...
def drain(app: Kairos | SyncKairos, *, limit: int = 10_000) -> Coroutine[Any, Any, int] | int:
    """Run steps until nothing is due; return how many ran. Raises after `limit` steps, which suggest a loop.

    With an async app, await it.
    """
    return _drain(app, limit) if isinstance(app, Kairos) else run_sync(app, lambda twin: _drain(twin, limit))


def run_sync(app: SyncKairos, work: Callable[[Kairos], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine for a sync app, on an async app with the same database and machines."""

    async def run() -> T:
        twin = Kairos(app.database.start(), **app.settings.others)
        twin.registry, twin.declared = app.registry, app.declared
        async with twin:
            return await work(twin)

    # In a thread of its own: the caller may be inside an event loop.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, run()).result()


async def _drain(app: Kairos, limit: int) -> int:
    inline = _Inline(app)
    try:
        return await inline.run(limit)
    finally:
        await inline.close()


class _Inline:
    """A worker without loops, lanes or keeper: one step at a time, in the order of the picks."""

    def __init__(self, app: Kairos) -> None:
        step_logging.install()
        self._store = app.store
        self._loop = asyncio.get_running_loop()
        self._claims: deque[Claim] = deque()
        self._leases = Leases(1000)
        self._executor = Executor(
            with_chains(app.registry),
            1,
            self.settle,
            lambda settlement, transaction: self._flusher.commit_own(settlement, transaction),
            self._leases,
            runtime=self,
            load_inbox=Inboxes(self._store).load,
            since_start=since_start_in(self._store),
            clusters=Clusters(app.settings),
        )
        self._log_writer = LogWriter(self._store, NAME, _LEASE)
        self._flusher = Flusher(
            self._store, NAME, self._leases, self._claims.appendleft, lambda _: None, self._log_writer
        )
        self._sweeper = Sweeper(self._store, NAME)
        self.finished = 0
        self.load = 0

    async def run(self, limit: int) -> int:
        lane = asyncio.current_task()
        assert lane is not None
        while await self._find_work():
            while self._claims:
                if self.finished >= limit:
                    raise RuntimeError(
                        f"drain() ran {limit} steps and more are due: raise the limit, or let the jobs end."
                    )
                settlement = await self._executor.execute(self._claims.popleft(), lane)
                self.finished += 1
                while self._log_writer.unwritten_lines():
                    await self._log_writer.flush()
                if settlement is not None:
                    self._flusher.submit(settlement)
                while self._flusher.backlog:
                    wait = await self._flusher.tick()
                    if self._flusher.backlog:
                        await asyncio.sleep(wait)
        return self.finished

    async def close(self) -> None:
        await self._executor.finish(0)
        self._leases.close()

    async def _find_work(self) -> bool:
        while await self._sweeper.tick() == 0.0:
            pass
        found = await self._store.run(
            Query("list_queues", (None, MOST_COUNTED, None, None, LIVE_FOR, MOST_PRIORITIES))
        )
        queues = [row["name"] for row in found if any(row[state] for state in LIVE)]
        if not queues:
            return False
        picker = Picker(
            self._store,
            NAME,
            dict.fromkeys(queues),
            1,
            self,  # type: ignore[arg-type]  # what a picker needs of an executor
            self._leases,
            _LEASE,
            poll=0.0,
        )
        await picker.refresh()
        for queue in queues:
            while await picker.pick(queue, 100) and not self._claims:
                pass
        return bool(self._claims)

    # The executor's interface to the picker

    def add(self, claim: Claim) -> None:
        self._claims.append(claim)

    def settle(self, settlement: Settlement) -> None:
        self._flusher.submit(settlement)

    # The worker's interface to a step

    def progress(self, ctx: Context[Any], done: int, total: int | None) -> None:
        """Ignore live progress: the outcome stores its last value."""

    def transaction(self, ctx: Context[Any]) -> StepTransaction:
        name = session_name(ctx.id, ctx.lease, self._store.settings.schema)
        return StepTransaction(self._store, self._loop, name)

    def write_log(
        self, ctx: Context[Any], level: str, line: str, fields: str | None, stream: str | None
    ) -> None:
        self._log_writer.add(ctx.id, ctx.lease, ctx.step, ctx.attempt, level, line, fields, stream)
