"""Pick from a queue with limits: one worker at a time, as many jobs as its concurrency and rate still admit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection

from kairos.store.async_store import AsyncStore
from kairos.store.driver_errors import LOCKED
from kairos.store.query import Query
from kairos.worker.claim import Claim, read_claims
from kairos.worker.frozen_sessions import FrozenSessions
from kairos.worker.keyed_picks import KeyedPicks
from kairos.worker.known_actions import KnownActions

# How long a pick waits for a lock, and for how many seconds the queue is then skipped: a session that locks the table
# of queues must not keep the picker from queues without a limit.
_LOCK_WAIT = "100ms"
_LOCKED_PAUSE = 0.5


class LimitedPicks:
    """Pick from limited queues, and remember the queues that are at their limit.

    `pick_query(queue, n)` builds the statement that picks at most `n` jobs, `note_met` is called with the number of
    rows that it returned, `note_locked` when a lock was not got in time, and `held_of(queue)` returns how many jobs of
    the queue this worker holds.
    """

    def __init__(
        self,
        store: AsyncStore,
        keyed: KeyedPicks,
        known: KnownActions,
        frozen: FrozenSessions,
        pick_query: Callable[[str, int], Query],
        note_met: Callable[[int], None],
        note_locked: Callable[[], None],
        held_of: Callable[[str], int],
        poll: float,
    ) -> None:
        self._store = store
        self._keyed = keyed
        self._known = known
        self._frozen = frozen
        self._pick_query = pick_query
        self._note_met = note_met
        self._note_locked = note_locked
        self._held_of = held_of
        self._poll = poll
        # Queues at their limit: (until, held). Not asked before `until` while this worker holds `held` of their jobs.
        self._at_limit: dict[str, tuple[float, int]] = {}
        self.queues: Collection[str] = frozenset()

    @property
    def queues_at_limit(self) -> Collection[str]:
        return self._at_limit.keys()

    def is_at_limit(self, queue: str) -> bool:
        """Whether a limit admitted nothing lately, and no job of the queue that this worker held has ended since."""
        _, held = self._at_limit.get(queue, (0, 0))
        if self.seconds_left(queue) > 0 and self._held_of(queue) >= held:
            return True
        self._at_limit.pop(queue, None)
        return False

    def seconds_left(self, queue: str) -> float:
        """Seconds until the queue may be asked again; zero or less if it may be asked now."""
        until, _ = self._at_limit.get(queue, (-math.inf, 0))
        return until - time.monotonic()

    async def pick(self, queue: str, room: int) -> tuple[list[Claim], int]:
        """Claim jobs under the lock of the queue; return them, and `room` if there may be more, else 0."""
        try:
            return await self._pick(queue, room)
        except LOCKED:
            self._note_locked()
            self._at_limit[queue] = time.monotonic() + _LOCKED_PAUSE, 0
            return [], 0

    async def _pick(self, queue: str, room: int) -> tuple[list[Claim], int]:
        async with self._store.transaction() as connection:
            await self._store.on(connection, Query("limit_lock_wait", (_LOCK_WAIT,)))
            if not await self._store.on(connection, Query("lock_queue", (queue,))):
                self._frozen.met_lock()
                return [], 0
            admission = await self._store.on(connection, Query("admit_queue", (queue, room)))
            if not admission:
                return [], 0  # paused
            admitted, wait = admission[0]["admitted"], admission[0]["wait"]
            if not admitted:
                # Until its rate admits one more; at its concurrency, until a job of it ends here, or the next poll.
                until = time.monotonic() + (wait.total_seconds() if wait else self._poll)
                self._at_limit[queue] = until, self._held_of(queue)
                return [], 0
            rows = await self._store.on(connection, self._pick_query(queue, admitted))
            self._note_met(len(rows))
            claims = list(read_claims(queue, rows))
            if len(claims) < len(rows) and (candidates := self._known.candidates(queue, rows)):
                claims += await self._keyed.pick_on(connection, queue, candidates)
            if claims and admission[0]["rated"]:
                await self._store.on(connection, Query("charge_queue_rate", (queue, len(claims))))
            return claims, room if len(rows) >= admitted else 0
