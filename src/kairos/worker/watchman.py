"""Looks for what is wrong, raises and clears alarms. Any number of workers look as often as one."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from kairos.alarms.thresholds import Thresholds
from kairos.store.pool import AsyncStore
from kairos.store.query import drive
from kairos.verbs.alarms import COUNT_MOST, EVERY, Look, claim, find, look
from kairos.worker.logs import Log
from kairos.worker.loop import Loop

log = Log("kairos.alarms")

# Who asks what is wrong is not told what was so longer ago than this.
FRESH = timedelta(seconds=5)


class Watchman(Loop):
    """One cheap look every 15 s; a transaction only where something is wrong, was wrong, or has happened."""

    name = "watchman"

    def __init__(self, store: AsyncStore, thresholds: Thresholds, every: float | None = None) -> None:
        super().__init__()
        self._store = store
        self._thresholds = thresholds
        self._every = EVERY.total_seconds() if every is None else every

    async def tick(self) -> float:
        await look_if_due(self._store, self._thresholds, EVERY)
        return self._every


async def look_if_due(store: AsyncStore, thresholds: Thresholds, every: timedelta = FRESH) -> None:
    """Look, unless somebody did less than `every` ago: one look in that time, however many ask, and wherever."""
    due = await drive(claim(every), store.run)
    if due is None:
        return
    quiet = not (due["happened"] or due["open"] or due["decay"])
    if quiet and not await drive(find(thresholds), store.run):
        return
    await look_now(store, thresholds, decay=due["decay"], count=COUNT_MOST if due["count"] else 0)


async def look_now(
    store: AsyncStore, thresholds: Thresholds, *, decay: bool = True, count: int = 0, tell: bool = True
) -> Look:
    """One whole look in one transaction; then those who deliver get a hint and, unless somebody else tells, the log."""
    while True:
        seen, hints = await store.transact(partial(look, thresholds, decay=decay, count=count))
        if tell:
            _tell(seen)
        for hint in hints:
            await store.run(hint)
        if not seen.more:
            return seen
        decay, count = False, 0  # once is enough, however much happened


def _tell(seen: Look) -> None:
    for alarm in seen.raised:
        say = log.error if alarm.severity == "error" else log.warning
        say("alarm raised", alarm=alarm.id, kind=alarm.kind, subject=alarm.subject, cause=alarm.cause)
    for alarm in seen.cleared:
        log.info("alarm cleared", alarm=alarm.id, kind=alarm.kind, subject=alarm.subject)
