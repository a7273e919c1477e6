"""Commit outcomes: those that arrive during one commit go into the next."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from logging import DEBUG

from kairos.fsm.lifecycle import STORED, JobState, Status, Verb
from kairos.logger import Logger
from kairos.store.async_store import AsyncStore
from kairos.store.driver_errors import LOCKED, PASSING, REFUSED
from kairos.store.query import Operation as Steps
from kairos.store.query import Row
from kairos.worker.blocked_outcomes import BlockedOutcomes, by_id, is_long_ago, without
from kairos.worker.claim import Claim
from kairos.worker.commit import (
    Answers,
    CommitResult,
    commit,
    commit_unlocked_rows,
    lock_query,
    open_keys,
    settle_all,
)
from kairos.worker.leases import Leases
from kairos.worker.log_buffer import Line
from kairos.worker.log_writer import LogWriter
from kairos.worker.loop import Loop
from kairos.worker.settle import Settlement, lost_connection, set_aside
from kairos.worker.transaction import StepTransaction

log = Logger("kairos.worker")
jobs_log = Logger("kairos.jobs")  # a line for each job, on in `kairos dev` and with --log-level debug

MAX_BATCH = 500
# Seconds after which a commit without an answer has stalled: nothing more is claimed then.
STALLED_AFTER = 1.0
# How long the commit of a step's own transaction waits for the row of its job: it cannot be repeated later.
_OWN_LOCK_WAIT = "5s"
_EXECUTING, _RUNNABLE = STORED[JobState.RUNNING], STORED[JobState.PENDING]


class Flusher(Loop):
    """Commit everything submitted, one commit at a time and without a timer: an outcome does not wait for others.

    Outcomes whose rows another session has locked are set aside as blocked, and tried again apart from the others.
    """

    name = "flusher"

    def __init__(
        self,
        store: AsyncStore,
        worker: str,
        leases: Leases,
        go_on: Callable[[Claim], None],
        settled: Callable[[bool], None],
        log_writer: LogWriter | None = None,
        in_doubt: Callable[[], None] = lambda: None,
    ) -> None:
        """`go_on` is called with each claim that continues with its next step (run-ahead).

        `settled` is called after each commit, with whether it may have made jobs due; `in_doubt` is called when the
        answer to a commit may have been lost.
        """
        super().__init__()
        self._in_doubt = in_doubt
        self._log_writer = log_writer
        # Jobs with an outcome whose log lines are not written yet, and since when.
        self._held: dict[int, float] = {}
        self._store = store
        self._worker = worker
        self._leases = leases
        self._go_on = go_on
        self._settled = settled
        self._waiting: list[Settlement] = []
        self._under_way: list[Settlement] = []
        self._singly = 0  # how many to send one at a time, after a batch was refused
        self._busy = False
        self._commit_began: float | None = None
        self._blocked = BlockedOutcomes(store, worker)
        self.handed_back: set[str] = set()  # the queues of jobs that were committed as runnable
        self.committed = 0
        self.stale = 0

    def submit(self, settlement: Settlement) -> None:
        """Take an outcome. The log lines of its step are written first: the commit ends the lease that fences them."""
        if self._log_writer is not None and self._log_writer.has_lines(settlement.claim.id):
            self._held[settlement.claim.id] = time.monotonic()
            claim = settlement.claim
            self._log_writer.commit_after_lines(
                claim.id, claim.lease, partial(self._take_after_lines, settlement)
            )
            return
        self._queue(settlement)

    def _take_after_lines(self, settlement: Settlement, lines_are_stored: bool) -> None:
        """Take an outcome whose log lines are written; if these were refused, the lease was lost: drop the outcome.

        The token of the lease is not enough: a crash or a failover of Postgres may forget a claim, and when this worker
        claims the job again, the new claim has the same token.
        """
        self._held.pop(settlement.claim.id, None)
        if not lines_are_stored:
            more = self._note_stale([settlement])
            self._leases.drop(settlement.claim)
            self._settled(more)
            return
        self._queue(settlement)

    def _queue(self, settlement: Settlement) -> None:
        self._waiting.append(settlement)
        if not self._under_way:
            self.wake()

    @property
    def backlog(self) -> int:
        """How many outcomes are not committed yet."""
        return len(self._waiting) + len(self._under_way) + len(self._blocked) + len(self._held)

    @property
    def stalled(self) -> bool:
        """Whether the running commit has had no answer for `STALLED_AFTER` seconds."""
        return self._commit_began is not None and time.monotonic() - self._commit_began > STALLED_AFTER

    @property
    def blocked_by(self) -> str | None:
        """Describe the session that has blocked outcomes for long; None if there is none."""
        if self._blocked_job() is None:
            self._blocked.blocker = None
        elif self._blocked.blocker is None:
            self.wake()  # to look it up
        return self._blocked.blocker

    async def drained(self) -> None:
        """Wait until everything submitted is committed or refused; also during an outage of the database."""
        for turn in count():
            if not (self._busy or self.backlog):
                break
            if turn % 50 == 0:
                self.wake()  # ends a backoff, four times a second
                if self._log_writer is not None:
                    self._log_writer.wake()
            await asyncio.sleep(0.005)

    def failed(self, error: BaseException) -> None:
        self._in_doubt()

    async def tick(self) -> float:
        if not self._under_way:
            self._take_batch()
        if self._under_way:
            await self._commit_batch()
        if self._blocked and self._blocked.seconds_left <= 0:
            await self._retry_blocked()
        if (job := self._blocked_job()) is not None:
            await self._blocked.find_blocker(job)
        if self._waiting or self._under_way:
            return 0.0
        return max(0.001, self._blocked.seconds_left) if self._blocked else 3600.0

    async def _commit_batch(self) -> None:
        self._commit_began = time.monotonic()
        try:
            done = CommitResult(await commit(self._store, self._worker, self._under_way))
        except LOCKED:
            done = await commit_unlocked_rows(self._store, self._worker, self._under_way)
        except PASSING:
            for each in self._under_way:
                each.in_doubt = True
            raise
        except REFUSED as error:
            self._refused(error)
            return
        finally:
            self._commit_began = None
        # From here on the batch is never sent again: the claims of a run-ahead change below.
        batch, self._under_way = self._under_way, []
        if done.locked:
            self._blocked.add(done.locked)
        self._send_singly(done.refused)
        left = done.locked + done.refused
        await self._acknowledge(without(batch, left) if left else batch, done.answers)

    def _send_singly(self, refused: list[Settlement]) -> None:
        """Commit each of them alone: an error then belongs to that job."""
        self._waiting[:0] = refused
        self._singly += len(refused)

    async def _retry_blocked(self) -> None:
        settled, done = await self._blocked.retry(MAX_BATCH)
        self._send_singly(done.refused)
        if settled:
            await self._acknowledge(settled, done.answers)

    def _blocked_job(self) -> int | None:
        """Return a job whose outcome, or whose log lines before it, have been blocked for long."""
        if (job := self._blocked.job_blocked_for_long()) is not None:
            return job
        job = next(iter(self._held), None)  # the oldest
        return job if job is not None and is_long_ago(self._held[job]) else None

    def _take_batch(self) -> None:
        """Take as many outcomes as fit, each job once: if it was lost and picked again, the older first."""
        size = 1 if self._singly else MAX_BATCH
        self._singly = max(0, self._singly - 1)
        batch = self._waiting[:size]
        if len({each.claim.id for each in batch}) < len(batch):
            batch = _before_repetition(batch)
        self._under_way, self._waiting = by_id(batch), self._waiting[len(batch) :]

    def _refused(self, error: BaseException) -> None:
        """Handle a refused batch: commit its outcomes one by one, and set aside the job that is refused alone."""
        log.error("a commit was refused", error=str(error), jobs=len(self._under_way))
        batch, self._under_way = self._under_way, []
        if len(batch) > 1:
            self._send_singly(batch)
        elif batch[0].replaces_refused:
            self._leases.drop(batch[0].claim)  # the reaper ends the job
        else:
            failed = set_aside(batch[0].claim, "its outcome cannot be stored", error)
            failed.replaces_refused = True
            self._under_way = [failed]

    async def _acknowledge(self, batch: list[Settlement], answers: Answers) -> None:
        keys, more, drop = set(), False, self._leases.drop
        if len(answers) < len(batch):
            more = self._note_stale([each for each in batch if each.claim.id not in answers])
        self.committed += len(answers)
        if jobs_log.is_on(DEBUG):
            _log_successes(batch, answers)
        for settlement in batch:
            claim = settlement.claim
            row = answers.get(claim.id)
            if row is not None:
                if row["status"] == _EXECUTING:
                    self._run_ahead(settlement, row["lease"], row["picked"])
                    continue
                if row["status"] == _RUNNABLE:
                    more = True
                    self.handed_back.add(claim.queue)
            drop(claim)
            if claim.key is not None:
                keys.add(claim.key)
            more = more or _brings_work(settlement)
        if keys:
            await self._open(sorted(keys))
        self._settled(more or bool(keys))

    def _note_stale(self, stale: list[Settlement]) -> bool:
        """Return whether there may be claims that this worker does not know of."""
        for each in stale:
            if not each.in_doubt:
                self.stale += 1
                log.warning("stale commit refused", job=each.claim.id, step=each.claim.step, verb=each.verb)
        if doubtful := sum(each.in_doubt for each in stale):
            # Most likely the first try was committed and only its answer was lost. If that was a run-ahead, this worker
            # still has the lease and no lane runs the job: the picker releases it.
            log.warning("a repeated commit wrote fewer outcomes than it sent", jobs=doubtful)
            self._in_doubt()
        return doubtful > 0

    async def _open(self, keys: list[str]) -> None:
        self._busy = True
        try:
            await open_keys(self._store, keys)
        except PASSING as error:
            log.warning("keys are left to the sweeper", keys=len(keys), error=str(error))
        finally:
            self._busy = False

    async def commit_own(self, settlement: Settlement, transaction: StepTransaction) -> None:
        """Commit an outcome together with what its step wrote in `ctx.transaction()`.

        If the outcome is stale, what the step wrote is rolled back. If the connection breaks during the commit, the job
        is released, which changes nothing if the commit succeeded.
        """
        job = settlement.claim.id
        lines = (
            await self._log_writer.reserve(job)
            if self._log_writer is not None and self._log_writer.has_lines(job)
            else []
        )
        written: Answers = {}
        answers: list[Row] = []
        try:
            written = await transaction.commit(lambda: self._with_lines(settlement, lines, answers))
        except PASSING as error:
            log.warning("a commit is in doubt", job=settlement.claim.id, error=str(error))
            back = lost_connection(settlement.claim, error)
            back.in_doubt = True
            self.submit(back)
            return
        finally:
            if self._log_writer is not None and lines:
                self._log_writer.release(job, lines, answers if written else ())
        await self._acknowledge([settlement], written)

    def _with_lines(
        self, settlement: Settlement, lines: Sequence[Line], answers: list[Row]
    ) -> Steps[Answers]:
        if self._log_writer is not None and lines:
            # Log lines usually skip a row that another session has locked; here they wait: the commit ends the lease.
            yield lock_query(self._worker, [settlement], _OWN_LOCK_WAIT)
            answers += yield self._log_writer.query(lines)
        return (yield from settle_all(self._worker, [settlement], _OWN_LOCK_WAIT))

    def _run_ahead(self, settlement: Settlement, lease: int, picked: int) -> None:
        claim = settlement.claim
        assert settlement.step is not None
        consumed = set(settlement.consumed)
        claim.lease = lease
        claim.step = settlement.step
        claim.state = claim.state if settlement.state is None else settlement.state
        claim.attempt = 0
        claim.timed_out = ()
        claim.suspect = False
        claim.inbox = tuple(signal for signal in claim.inbox if signal.id not in consumed)
        claim.inbox_is_whole |= bool(consumed)  # the signals taken make room for the others
        claim.steps_ahead += 1
        claim.picked = picked
        claim.due = None
        self._leases.hold(claim)
        self._go_on(claim)


def _log_successes(batch: list[Settlement], answers: Answers) -> None:
    for each in batch:
        if each.status is Status.DONE and each.claim.id in answers:
            jobs_log.debug("job succeeded", job=each.claim.id, action=each.claim.action)


def _before_repetition(batch: list[Settlement]) -> list[Settlement]:
    """Return the outcomes before the first one of a job that occurs twice."""
    seen: set[int] = set()
    for settlement in batch:
        if settlement.claim.id in seen:
            break
        seen.add(settlement.claim.id)
    return batch[: len(seen)]


def _brings_work(settlement: Settlement) -> bool:
    """Whether this commit may make other jobs due, or its own job by the recheck of its inbox."""
    waited = settlement.verb is Verb.AWAIT or settlement.claim.reply_to is not None
    return waited or bool(settlement.children)
