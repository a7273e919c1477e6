"""Commits outcomes: whatever has gathered while the last commit was under way goes into the next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count

from kairos.fsm.lifecycle import STORED, JobState, Verb
from kairos.store.faults import PASSING, REFUSED
from kairos.store.pool import AsyncStore
from kairos.store.query import Query, Row
from kairos.store.query import Verb as Steps
from kairos.worker.claim import Claim
from kairos.worker.commit import commit, open_keys, settle_all
from kairos.worker.leases import Leases
from kairos.worker.lines import Line
from kairos.worker.logs import Log
from kairos.worker.loop import Loop
from kairos.worker.scribe import Scribe
from kairos.worker.settle import Settlement, failure
from kairos.worker.transaction import StepTransaction

log = Log("kairos.worker")

MAX_BATCH = 500
_EXECUTING, _RUNNABLE = STORED[JobState.RUNNING], STORED[JobState.PENDING]


class Flusher(Loop):
    """One commit at a time, of all there is: no timer, and no wait when there is little."""

    name = "flusher"

    def __init__(
        self,
        store: AsyncStore,
        worker: str,
        leases: Leases,
        go_on: Callable[[Claim], None],
        settled: Callable[[bool], None],
        scribe: Scribe | None = None,
    ) -> None:
        super().__init__()
        self._scribe = scribe
        self._held = 0  # outcomes of jobs whose lines are not written yet
        self._store = store
        self._worker = worker
        self._leases = leases
        self._go_on = go_on
        self._settled = settled
        self._waiting: list[Settlement] = []
        self._under_way: list[Settlement] = []
        self._singly = 0  # how many to send one at a time, after a batch was refused
        self._sent_before = False  # whether what is under way may have been committed without our knowing
        self._busy = False
        self.committed = 0
        self.stale = 0

    def submit(self, settlement: Settlement) -> None:
        """Take an outcome. What its step said is written first: the commit ends the lease that fences it."""
        if self._scribe is not None and self._scribe.owes(settlement.claim.id):
            self._held += 1
            self._scribe.before(settlement.claim.id, partial(self._let_go, settlement))
            return
        self._waiting.append(settlement)
        if not self._under_way:
            self.wake()

    def _let_go(self, settlement: Settlement) -> None:
        self._held -= 1
        self._waiting.append(settlement)
        if not self._under_way:
            self.wake()

    async def drained(self) -> bool:
        """Wait until everything submitted is committed or refused; a database that is away is waited for."""
        for look in count():
            if not (self._waiting or self._under_way or self._busy or self._held):
                break
            if look % 50 == 0:
                self.wake()  # also out of a backoff, but not in a storm
                if self._scribe is not None:
                    self._scribe.wake()
            await asyncio.sleep(0.005)
        return True

    async def tick(self) -> float:
        if not self._under_way:
            self._take_batch()
        if not self._under_way:
            return 3600.0
        try:
            rows = await commit(self._store, self._worker, self._under_way)
        except PASSING:
            self._sent_before = True
            raise
        except REFUSED as error:
            self._refused(error)
            return 0.0
        # From here on it is never sent again, whatever happens next: the claims of a run-ahead move on.
        batch, self._under_way = self._under_way, []
        again, self._sent_before = self._sent_before, False
        await self._acknowledge(batch, rows, again)
        return 0.0 if self._waiting else 3600.0

    def _take_batch(self) -> None:
        """As many as fit, but no job twice: of a lease that was lost and picked again, the older goes alone."""
        size = 1 if self._singly else MAX_BATCH
        self._singly = max(0, self._singly - 1)
        seen: set[int] = set()
        for settlement in self._waiting[:size]:
            if settlement.claim.id in seen:
                break
            seen.add(settlement.claim.id)
        self._under_way, self._waiting = by_id(self._waiting[: len(seen)]), self._waiting[len(seen) :]

    def _refused(self, error: BaseException) -> None:
        """One outcome that Postgres will not take must not keep the others from being committed."""
        log.error("a commit was refused", error=str(error), jobs=len(self._under_way))
        batch, self._under_way = self._under_way, []
        if len(batch) > 1:
            self._waiting[:0] = batch
            self._singly += len(batch)
        elif batch[0].is_verdict:
            self._leases.drop(batch[0].claim)  # the reaper has the last word
        else:
            verdict = failure(batch[0].claim, error)
            verdict.is_verdict = True
            self._under_way = [verdict]

    async def _acknowledge(
        self, batch: list[Settlement], rows: Sequence[Row], sent_before: bool = False
    ) -> None:
        by_id = {row["id"]: row for row in rows}
        if sent_before and len(rows) < len(batch):
            # Most likely the first sending was committed and only its answer was lost. Where that was a
            # run-ahead, the row is ours still, and nobody runs it.
            log.warning("a commit sent again found less to do", jobs=len(batch) - len(rows))
            self.failed(TimeoutError("the answer to a commit was lost"))
        keys = set()
        for settlement in batch:
            claim = settlement.claim
            row = by_id.get(claim.id)
            if row is None:
                if not sent_before:
                    self.stale += 1
                    log.warning("stale commit refused", job=claim.id, step=claim.step, verb=settlement.verb)
            else:
                self.committed += 1
                if row["status"] == _EXECUTING:
                    self._run_ahead(settlement, row["lease"], row["picked"])
                    continue
            self._leases.drop(claim)
            if claim.key is not None:
                keys.add(claim.key)
        if keys:
            await self._open(sorted(keys))
        more = bool(keys) or any(row["status"] == _RUNNABLE for row in rows) or any(map(_brings_work, batch))
        self._settled(more)

    async def _open(self, keys: list[str]) -> None:
        self._busy = True
        try:
            await open_keys(self._store, keys)
        except PASSING as error:
            log.warning("keys are left to the sweeper", keys=len(keys), error=str(error))
        finally:
            self._busy = False

    async def commit_own(self, settlement: Settlement, unit: StepTransaction) -> None:
        """Commit an outcome together with what its step wrote in `ctx.transaction()`.

        Stale: what the step wrote is undone with it. In doubt (the connection broke while committing):
        the row itself knows, and `release_unheld` gives it back if it is still ours.
        """
        job = settlement.claim.id
        said = await self._scribe.lend(job) if self._scribe is not None and self._scribe.owes(job) else []
        rows: Sequence[Row] = ()
        answers: list[Row] = []
        try:
            rows = await unit.commit(lambda: self._with_lines(settlement, said, answers))
        except PASSING as error:
            log.warning("a commit is in doubt", job=settlement.claim.id, error=str(error))
            self._leases.drop(settlement.claim)
            self.failed(error)
            return
        finally:
            if self._scribe is not None and said:
                self._scribe.take_back(job, said, answers if rows else ())
        await self._acknowledge([settlement], rows)

    def _with_lines(
        self, settlement: Settlement, said: Sequence[Line], answers: list[Row]
    ) -> Steps[list[Row]]:
        if self._scribe is not None and said:
            # Lines never wait for a row that another has just now; here they must, or the commit ends their lease.
            claim = settlement.claim
            replies = [] if claim.reply_to is None else [claim.reply_to]
            yield Query("lock_jobs", ([claim.id], [claim.lease], self._worker, replies))
            answers += yield self._scribe.query(said)
        return (yield from settle_all(self._worker, [settlement]))

    def _run_ahead(self, settlement: Settlement, lease: int, picked: int) -> None:
        claim = settlement.claim
        assert settlement.step is not None
        consumed = set(settlement.consumed)
        claim.lease = lease
        claim.step = settlement.step
        claim.state = claim.state if settlement.state is None else settlement.state
        claim.attempt = 0
        claim.timed_out = ()
        claim.inbox = tuple(signal for signal in claim.inbox if signal.id not in consumed)
        claim.steps_ahead += 1
        claim.picked = picked
        claim.due = None
        self._leases.hold(claim)
        self._go_on(claim)


def by_id(batch: list[Settlement]) -> list[Settlement]:
    """In the order in which everybody locks: one who cancels many may want the same rows."""
    return sorted(batch, key=lambda settlement: settlement.claim.id)


def _brings_work(settlement: Settlement) -> bool:
    """Whether other jobs, or its own after the recheck of its inbox, may be due by this commit."""
    waited = settlement.verb is Verb.AWAIT or settlement.claim.reply_to is not None
    return waited or bool(settlement.children)
