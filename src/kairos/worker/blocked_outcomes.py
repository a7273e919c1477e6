"""Keep the outcomes whose rows another session has locked, and try them again apart from the other commits."""

from __future__ import annotations

import time
from collections.abc import Collection
from operator import attrgetter

from kairos.logger import Logger
from kairos.store.async_store import AsyncStore
from kairos.worker.blocking_sessions import describe, end_frozen, find_blockers
from kairos.worker.commit import CommitResult, commit_unlocked_rows
from kairos.worker.settle import Settlement

log = Logger("kairos.worker")

# Seconds between two tries: at first, and at most.
_FIRST_RETRY, _LAST_RETRY = 0.05, 1.0
# Seconds for which an outcome is blocked before the session that blocks it is looked up, and between two look-ups.
BLOCKED_FOR_LONG, _LOOK_UP_EVERY = 2.0, 10.0
_JOB = attrgetter("claim.id")


class BlockedOutcomes:
    """The blocked outcomes of one worker; `blocker` describes the session that blocks them, once it is known."""

    def __init__(self, store: AsyncStore, worker: str) -> None:
        self._store = store
        self._worker = worker
        self._outcomes: list[Settlement] = []
        self._since = self._retry_at = self._retry_in = 0.0
        self._looked_up_at = 0.0
        self.blocker: str | None = None

    def __len__(self) -> int:
        return len(self._outcomes)

    @property
    def seconds_left(self) -> float:
        """Seconds until the next try; zero or less if it is due."""
        return self._retry_at - time.monotonic()

    def add(self, locked: list[Settlement]) -> None:
        if not self._outcomes:
            self._since, self._retry_in = time.monotonic(), _FIRST_RETRY
            self._retry_at = self._since + self._retry_in
        self._outcomes += locked
        log.warning("outcomes wait for rows that another session has locked", jobs=len(self._outcomes))

    async def retry(self, at_most: int) -> tuple[list[Settlement], CommitResult]:
        """Try at most so many of the oldest outcomes again; return those that are settled, and the commit's result."""
        # Each job once: if its lease was lost and it was picked again, the older outcome goes first.
        batch = list({each.claim.id: each for each in reversed(self._outcomes[:at_most])}.values())
        done = await commit_unlocked_rows(self._store, self._worker, by_id(batch))
        settled = without(batch, done.locked + done.refused)
        self._outcomes = done.locked + without(self._outcomes, batch)
        self._retry_in = _FIRST_RETRY if settled else min(2 * self._retry_in, _LAST_RETRY)
        self._retry_at = time.monotonic() + self._retry_in
        return settled, done

    def job_blocked_for_long(self) -> int | None:
        return self._outcomes[0].claim.id if self._outcomes and is_long_ago(self._since) else None

    async def find_blocker(self, job: int) -> None:
        """Find the session that locks the row of `job`; the worker's row and an alarm then show it, by `blocker`.

        If the session is one of Kairos's own and frozen, terminate it instead.
        """
        now = time.monotonic()
        if self.blocker is not None and now - self._looked_up_at < _LOOK_UP_EVERY:
            return
        found = await find_blockers(self._store, job)
        if found and not await end_frozen(self._store, found):
            self._looked_up_at = now
            self.blocker = f"job {job} is locked by {describe(found)}"


def is_long_ago(blocked_since: float) -> bool:
    """Whether an outcome that was blocked at `blocked_since` has been blocked for `BLOCKED_FOR_LONG` seconds."""
    return time.monotonic() - blocked_since >= BLOCKED_FOR_LONG


def by_id(batch: list[Settlement]) -> list[Settlement]:
    """Sort outcomes by job id, the order in which every statement locks rows, so that no two of them deadlock."""
    return sorted(batch, key=_JOB)


def without(batch: list[Settlement], others: Collection[Settlement]) -> list[Settlement]:
    """Return the outcomes of `batch` that are not among `others`, compared by identity."""
    left_out = {id(each) for each in others}
    return [each for each in batch if id(each) not in left_out]
