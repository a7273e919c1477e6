"""One poller for all streams of the process: so many readers, one look at the database a turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import structlog

from kairos import documents
from kairos.api.marks import Marks
from kairos.api.settings import ServiceSettings
from kairos.api.stream import Pace, Slots
from kairos.api.tails import Entry, JobTail, Tail, change_event, event, log_event
from kairos.app import Kairos
from kairos.store import rows
from kairos.store.faults import PASSING
from kairos.store.query import Query, Row
from kairos.verbs.alarms import Alarm

if TYPE_CHECKING:
    from kairos.api.app import Service

log = structlog.get_logger("kairos.api")

TURN = 0.03
_SLOW_TURN = 0.25  # for jobs that wait for their time or for a signal
_PULSE = 0.5
_ALARMS = 1.0
_LONGEST_PAUSE = 1.0
_PAGE = 500
_PAGES_A_TURN = 8
_ALARMS_SHOWN = 200
# However many readers catch up at once, the others get to the database too.
_PAGES_AT_ONCE = 4


class Hub:
    """A part of the service: tails by what they follow. It looks only while somebody reads."""

    def __init__(self, service: Service) -> None:
        settings: ServiceSettings = service.state.settings
        self._kairos: Kairos = service.state.kairos
        self.slots = Slots(settings.streams, settings.streams_per_caller)
        self.pace = Pace(service.stopping)
        self._jobs: dict[int, JobTail] = {}
        self._looked: dict[int, float] = {}
        self._feed: Tail | None = None
        self._pulse: Tail | None = None
        self._marks = Marks()
        self._pulsed = 0
        self._marked_at = self._pulsed_at = self._alarmed_at = 0.0
        self._alarms: dict[int, Any] | None = None
        self._pages = asyncio.Semaphore(_PAGES_AT_ONCE)
        self._poller: asyncio.Task[None] | None = None
        self._failures = 0
        self.turns = 0

    async def __aenter__(self) -> Hub:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._poller is not None:
            self._poller.cancel()
            await asyncio.gather(self._poller, return_exceptions=True)

    # What readers follow

    @contextmanager
    def job(self, job_id: int) -> Iterator[JobTail]:
        tail = self._jobs.get(job_id)
        if tail is None or tail.ended:
            tail = self._jobs[job_id] = JobTail(job_id, self._lines_of(job_id))
        with self._reading(tail):
            yield tail

    @contextmanager
    def feed(self) -> Iterator[Tail]:
        self._feed = self._feed or Tail(self._changes)
        with self._reading(self._feed) as tail:
            yield tail

    @contextmanager
    def pulse(self) -> Iterator[Tail]:
        self._pulse = self._pulse or Tail()
        with self._reading(self._pulse) as tail:
            yield tail

    @contextmanager
    def _reading(self, tail: Tail) -> Iterator[Tail]:
        tail.readers += 1
        if self._poller is None or self._poller.done():
            self._poller = asyncio.create_task(self._poll(), name="stream hub")
        try:
            yield tail
        finally:
            tail.readers -= 1
            if not tail.readers:
                self._forget(tail)

    def _forget(self, tail: Tail) -> None:
        """Nobody reads it any more."""
        if tail is self._feed:
            self._feed = self._alarms = None
        elif tail is self._pulse:
            self._pulse = None
        elif isinstance(tail, JobTail) and self._jobs.get(tail.job_id) is tail:
            del self._jobs[tail.job_id]
            self._looked.pop(tail.job_id, None)
        if self._feed is None and self._pulse is None:
            self._marks = Marks()  # what was decided is the past of whoever comes next

    # The poller

    async def _poll(self) -> None:
        while self._jobs or self._feed or self._pulse:
            began = time.monotonic()
            try:
                await self._turn(began)
                self._failures = 0
            except PASSING as error:
                # The streams stay open: whatever is committed meanwhile is read from where they are.
                if not self._failures:
                    log.warning("streams wait for the database", error=str(error))
                self._failures += 1
            except Exception:
                # Readers would wait for ever for a poller that is gone.
                log.exception("a look for the streams failed for a reason nobody expected")
                self._failures += 1
            pause = min(_LONGEST_PAUSE, TURN * 2 ** min(self._failures, 10))
            await asyncio.sleep(max(0.005, pause - (time.monotonic() - began)))

    async def _turn(self, now: float) -> None:
        self.turns += 1
        if self._feed is not None or (self._pulse is not None and now - self._marked_at >= _PULSE / 2):
            self._marked_at = now
            marks = self._marks
            new = [tail for tail in (self._feed, self._pulse) if tail is not None and tail.start is None]
            (mark,) = await self._run("mark_feed")
            marks.add(mark["last"], frozenset(mark["writers"]))
            for tail in new:
                tail.start = mark["last"]
            await self._follow_feed(now)
            await self._follow_pulse(now)
        due = [
            tail
            for tail in list(self._jobs.values())
            if not tail.ended and (tail.moves_soon or now - self._looked.get(tail.job_id, 0.0) >= _SLOW_TURN)
        ]
        if due:
            self._looked.update((tail.job_id, now) for tail in due)
            await self._follow_jobs(due)

    async def _follow_jobs(self, due: list[JobTail]) -> None:
        """States first and lines after: a job that has ended by the first look has no more lines to say."""
        ids = [tail.job_id for tail in due]
        found = {row["id"]: row for row in await self._run("watch_jobs", ids, [tail.seen for tail in due])}
        for tail in due:
            if (row := found.get(tail.job_id)) is None:
                tail.ready = True
                tail.end(None)
            elif not tail.ready:
                tail.begin(row)
                tail.tell()
        lines: dict[int, list[Row]] = {}
        for line in await self._run("tail_logs", ids, [tail.cursor for tail in due], _PAGE):
            lines.setdefault(line["job_id"], []).append(line)
        over: list[JobTail] = []
        for tail in due:
            if tail.ended:
                tail.tell()
                continue
            row = found[tail.job_id]
            # What was said after the look at the states waits for the next: its run is not told yet.
            said = [
                line for line in lines.get(tail.job_id, []) if row["ended"] or line["at"] <= row["looked_at"]
            ]
            before = tail.last
            tail.go_on(row, said)
            if row["ended"] and len(said) < _PAGE:
                over.append(tail)
            elif tail.last > before:
                tail.tell()
        if over:
            jobs = {
                row["id"]: rows.job(row) for row in await self._run("read_jobs", [t.job_id for t in over])
            }
            for tail in over:
                tail.end(jobs.get(tail.job_id))
                tail.tell()

    async def _follow_feed(self, now: float) -> None:
        feed = self._feed
        if feed is None:
            return
        if not feed.ready and self._has_reached(feed.start):
            feed.cursor, feed.ready = feed.start or 0, True
            feed.tell()
        for _ in range(_PAGES_A_TURN):
            if not feed.ready or feed.cursor >= self._marks.decided:
                break
            found = await self._run("read_feed", feed.cursor, self._marks.decided, _PAGE)
            for row in found:
                feed.append(change_event(row), row["id"])
            if len(found) < _PAGE:
                feed.cursor = self._marks.decided  # what is not there was rolled back, or has left
            feed.tell()
        if now - self._alarmed_at >= _ALARMS:
            self._alarmed_at = now
            await self._follow_alarms(feed)

    async def _follow_alarms(self, feed: Tail) -> None:
        found = {
            row["id"]: dict(row) for row in await self._run("list_alarms", True, None, _ALARMS_SHOWN, None)
        }
        if self._alarms is not None:
            changed = [row for number, row in sorted(found.items()) if self._alarms.get(number) != row]
            for row in changed:
                feed.append(event("alarm", documents.alarm(Alarm(**row))))
            if changed:
                feed.tell()
        self._alarms = found

    async def _follow_pulse(self, now: float) -> None:
        pulse = self._pulse
        if pulse is None or now - self._pulsed_at < _PULSE or not self._has_reached(pulse.start):
            return
        self._pulsed_at = now
        if not pulse.ready:
            pulse.ready, self._pulsed = True, pulse.start or 0
        elif self._pulsed < self._marks.decided:
            found = await self._run("count_feed", self._pulsed, self._marks.decided)
            self._pulsed = self._marks.decided
            edges = [
                {"verb": row["verb"], "from": row["from_state"], "to": row["to_state"], "count": row["count"]}
                for row in found
            ]
            if edges:
                pulse.append(event("pulse", {"at": datetime.now(UTC), "edges": edges}))
        pulse.tell()

    def _has_reached(self, start: int | None) -> bool:
        """Whether all up to there is decided: what comes after it is news to who came then."""
        return start is not None and self._marks.known and self._marks.decided >= start

    # What readers who are behind read

    def _lines_of(self, job_id: int) -> Callable[[int, int], Any]:
        async def page(after: int, upto: int) -> Sequence[Entry]:
            async with self._pages:
                found = await self._run("read_logs", job_id, after, min(_PAGE, upto - after))
            return [Entry(row["cursor"], log_event(rows.log_line(row))) for row in found]

        return page

    async def _changes(self, after: int, upto: int) -> Sequence[Entry]:
        async with self._pages:
            found = await self._run("read_feed", after, upto, _PAGE)
        return [Entry(row["id"], change_event(row)) for row in found]

    async def _run(self, name: str, *params: Any) -> Sequence[Row]:
        return await self._kairos.store.run(Query(name, params))
