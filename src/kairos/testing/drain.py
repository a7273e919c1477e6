"""`drain`: run everything that is due, here and now, through the real SQL and without a worker."""

from __future__ import annotations

import asyncio
from collections import deque
from datetime import timedelta
from typing import Any

from kairos.app import Kairos
from kairos.machine.context import Context
from kairos.store.query import Query
from kairos.verbs.queue import MOST_COUNTED
from kairos.worker.claim import Claim
from kairos.worker.executor import Executor
from kairos.worker.flusher import Flusher
from kairos.worker.leases import Leases
from kairos.worker.picker import Picker
from kairos.worker.scribe import Scribe
from kairos.worker.settle import Settlement
from kairos.worker.sweeper import Sweeper
from kairos.worker.transaction import StepTransaction

NAME = "drain"
_LEASE = timedelta(hours=1)


async def drain(app: Kairos, *, limit: int = 10_000) -> int:
    """Run steps until nothing is due; answers how many ran. More than `limit` is taken for a loop and raises."""
    inline = _Inline(app)
    try:
        return await inline.run(limit)
    finally:
        await inline.close()


class _Inline:
    """A worker without loops, lanes or keeper: one step at a time, in the order of the picks."""

    def __init__(self, app: Kairos) -> None:
        self._store = app.store
        self._claims: deque[Claim] = deque()
        self._leases = Leases(1000)
        self._executor = Executor(app.registry, 1, self._submit, self._commit_own, self._leases, runtime=self)
        self._scribe = Scribe(self._store, NAME, _LEASE)
        self._flusher = Flusher(
            self._store, NAME, self._leases, self._claims.appendleft, lambda _: None, self._scribe
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
                    raise RuntimeError(f"drain() ran {limit} steps and there is more: do they ever end?")
                settlement = await self._executor.execute(self._claims.popleft(), lane)
                self.finished += 1
                while self._scribe.left():
                    await self._scribe.flush()
                if settlement is not None:
                    self._flusher.submit(settlement)
                    while await self._flusher.tick() == 0.0:
                        pass
        return self.finished

    async def close(self) -> None:
        await self._executor.finish(0)
        self._leases.close()

    async def _find_work(self) -> bool:
        while await self._sweeper.tick() == 0.0:
            pass
        found = await self._store.run(Query("list_queues", (None, MOST_COUNTED, None, None)))
        queues = [row["name"] for row in found]
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

    # What the picker sees of an executor

    def add(self, claim: Claim) -> None:
        self._claims.append(claim)

    # What the executor asks on behalf of a step

    def progress(self, ctx: Context[Any], done: int, total: int | None) -> None:
        """Nobody watches a drain: what the outcome carries is enough."""

    def transaction(self) -> StepTransaction:
        return StepTransaction(self._store)

    def say(self, ctx: Context[Any], level: str, line: str, fields: str | None, stream: str | None) -> None:
        self._scribe.say(ctx.id, ctx.lease, ctx.step, ctx.attempt, level, line, fields, stream)

    def _submit(self, settlement: Settlement) -> None:
        self._flusher.submit(settlement)

    async def _commit_own(self, settlement: Settlement, unit: StepTransaction) -> None:
        await self._flusher.commit_own(settlement, unit)
