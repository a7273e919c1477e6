"""Poll the database for all event streams of the process: one poll a turn, however many readers there are."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from datetime import UTC, datetime
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from kairos import shapes
from kairos.alarms.thresholds import LIVE_FOR
from kairos.api.activity_counts import ActivityCounts
from kairos.api.event_buffer import Entry, EventBuffer, JobEventBuffer, change_event, event, log_event
from kairos.api.event_pages import EventPages
from kairos.api.feed_watermark import FeedWatermark
from kairos.api.settings import ServiceSettings
from kairos.api.sse import Slots, StreamTimeouts
from kairos.app import Kairos
from kairos.logger import Logger
from kairos.shapes.alarm import Alarm
from kairos.shapes.job import Job
from kairos.shapes.log_line import LogRow
from kairos.store.driver_errors import PASSING
from kairos.store.query import Query, Row

if TYPE_CHECKING:
    from kairos.api.app import Service

log = Logger("kairos.api")

# Seconds between two polls: of the feed and of jobs, of jobs that are scheduled or wait for a signal, and of the rest.
TURN, _SLOW_TURN = 0.03, 0.25
_PULSE, _ACTIVITY, _ALARMS, _LISTS = 0.5, 0.25, 1.0, 1.0
_LONGEST_PAUSE = 1.0  # seconds after polls that failed
_LINES = 500  # log lines of one poll
_PAGE, _PAGE_BYTES = 500, 64 * 1024  # rows and bytes of a page of changes
_PAGES_A_TURN = 8
_ALARMS_SHOWN = 200


class EventHub(AbstractAsyncContextManager["EventHub"]):
    """Hold the event buffers of the service, and fill them by polling while they have readers."""

    def __init__(self, service: Service) -> None:
        settings: ServiceSettings = service.state.settings
        self._kairos: Kairos = service.state.kairos
        self.slots = Slots(settings.streams, settings.streams_per_caller)
        self.timeouts = StreamTimeouts(service.stopping)
        self._jobs: dict[int, JobEventBuffer] = {}
        self._polled_at: dict[int, float] = {}
        self._feed: EventBuffer | None = None
        self._pulse: EventBuffer | None = None
        self._watermark = FeedWatermark()
        self._pulsed = 0
        self._activity = ActivityCounts()
        self._marked_at = self._pulsed_at = self._alarmed_at = self._active_at = self._listed_at = 0.0
        self._alarms: dict[int, Any] | None = None
        self._lists: dict[str, str] | None = None
        self._pages = EventPages()
        self._poller: asyncio.Task[None] | None = None
        self.failures = 0  # how many polls in a row have failed
        self.turns = 0

    async def __aexit__(self, *_: object) -> None:
        if self._poller is not None:
            self._poller.cancel()
            await asyncio.gather(self._poller, return_exceptions=True)

    @property
    def is_polling(self) -> bool:
        """Whether the database is polled, which it is while there are readers."""
        return self._poller is not None and not self._poller.done()

    @property
    def is_ready(self) -> bool:
        """Whether the readers of the feed and the pulse are sent all changes, counts, alarms and lists from now on."""
        followed = self._followed
        return (
            all(buffer.ready for buffer in followed)
            and (not followed or (self._activity.has_started and self._alarms is not None))
            and (self._pulse is None or self._lists is not None)
        )

    # The buffers that readers follow

    @property
    def _followed(self) -> list[EventBuffer]:
        """The buffers of the feed and the pulse that have readers."""
        return [buffer for buffer in (self._feed, self._pulse) if buffer is not None]

    def _send(self, *events: bytes) -> None:
        """Append events to the feed and the pulse."""
        for buffer in self._followed if events else ():
            if buffer.ready:
                for each in events:
                    buffer.append(each)
                buffer.notify_readers()

    @contextmanager
    def job(self, job_id: int) -> Iterator[JobEventBuffer]:
        """Follow one job: its changes and log lines until it ends."""
        buffer = self._jobs.get(job_id)
        if buffer is None or buffer.ended:
            buffer = self._jobs[job_id] = JobEventBuffer(job_id, self._lines_of(job_id))
        with self._reading(buffer):
            yield buffer

    @contextmanager
    def feed(self) -> Iterator[EventBuffer]:
        """Follow every change of every job, with counts and alarms."""
        self._feed = self._feed or EventBuffer(self._changes)
        with self._reading(self._feed) as buffer:
            yield buffer

    @contextmanager
    def pulse(self) -> Iterator[EventBuffer]:
        """Follow the totals: changes counted by edge, counts, alarms, and the names of lists that changed."""
        self._pulse = self._pulse or EventBuffer()
        with self._reading(self._pulse) as buffer:
            yield buffer

    @contextmanager
    def _reading(self, buffer: EventBuffer) -> Iterator[EventBuffer]:
        buffer.readers += 1
        if self._poller is None or self._poller.done():
            self._poller = asyncio.create_task(self._poll(), name="stream hub")
        try:
            yield buffer
        finally:
            buffer.readers -= 1
            if not buffer.readers:
                self._forget(buffer)

    def _forget(self, buffer: EventBuffer) -> None:
        """Drop a buffer that has no readers left."""
        if buffer is self._feed:
            self._feed = None
        elif buffer is self._pulse:
            self._pulse = self._lists = None
        elif isinstance(buffer, JobEventBuffer) and self._jobs.get(buffer.job_id) is buffer:
            del self._jobs[buffer.job_id]
            self._polled_at.pop(buffer.job_id, None)
        if self._feed is None and self._pulse is None:
            self._watermark = FeedWatermark()  # the next reader starts from a new watermark
            self._activity = ActivityCounts()
            self._alarms = None

    async def newest(self) -> int:
        """Return the newest id of the history, committed or not."""
        (mark,) = await self._run("read_feed_watermark")
        last: int = mark["last"]
        return last

    async def newest_line(self, job_id: int) -> int:
        """Return the cursor of the newest log line of one job, 0 if it has none."""
        (found,) = await self._run("newest_log_line", job_id)
        cursor: int = found["cursor"]
        return cursor

    # The poller

    async def _poll(self) -> None:
        while self._jobs or self._feed or self._pulse:
            began = time.monotonic()
            try:
                await self._turn(began)
                self.failures = 0
            except PASSING as error:
                # The streams stay open, and later read what is committed meanwhile.
                if not self.failures:
                    log.warning("streams wait for the database", error=str(error))
                self.failures += 1
            except Exception as error:
                # The poller goes on, or its readers would wait for ever.
                log.error("polling for the event streams failed with an unexpected error", exc_info=error)
                self.failures += 1
            pause = min(_LONGEST_PAUSE, TURN * 2 ** min(self.failures, 10))
            await asyncio.sleep(max(0.005, pause - (time.monotonic() - began)))

    async def _turn(self, now: float) -> None:
        self.turns += 1
        if self._feed is not None or (self._pulse is not None and now - self._marked_at >= _PULSE / 2):
            self._marked_at = now
            marks = self._watermark
            new = [buffer for buffer in self._followed if buffer.start is None]
            (mark,) = await self._run("read_feed_watermark")
            marks.add(mark["last"], frozenset(mark["writers"]))
            for buffer in new:
                buffer.start = mark["last"]
            await self._follow_feed()
            await self._follow_pulse(now)
            await self._follow_activity(now)
            await self._follow_alarms(now)
            await self._follow_lists(now)
            self._begin_pulse()
        due = [
            buffer
            for buffer in list(self._jobs.values())
            if not buffer.ended
            and (buffer.moves_soon or now - self._polled_at.get(buffer.job_id, 0.0) >= _SLOW_TURN)
        ]
        if due:
            self._polled_at.update((buffer.job_id, now) for buffer in due)
            await self._follow_jobs(due)

    async def _follow_jobs(self, due: list[JobEventBuffer]) -> None:
        """Read states before log lines: a job that has already ended writes no more lines."""
        ids = [buffer.job_id for buffer in due]
        found = {
            row["id"]: row for row in await self._run("watch_jobs", ids, [buffer.seen for buffer in due])
        }
        for buffer in due:
            if (row := found.get(buffer.job_id)) is None:
                buffer.ready = True
                buffer.end(None)
            elif not buffer.ready:
                buffer.begin(row)
                buffer.notify_readers()
        lines: dict[int, list[Row]] = {}
        for line in await self._run("tail_logs", ids, [buffer.cursor for buffer in due], _PAGE, _PAGE_BYTES):
            lines.setdefault(line["job_id"], []).append(line)
        over: list[JobEventBuffer] = []
        for buffer in due:
            if buffer.ended:
                buffer.notify_readers()
                continue
            row = found[buffer.job_id]
            # A line younger than the states waits for the next poll: its run may not have been sent yet. So do the
            # lines after it, whose stamps may be older: the cursor must not pass a line that was not sent.
            shown = _older(lines.get(buffer.job_id, ()), None if row["ended"] else row["looked_at"])
            before = buffer.last
            buffer.append_changes(row, shown)
            if row["ended"] and not _is_full(shown):
                over.append(buffer)
            elif buffer.last > before:
                buffer.notify_readers()
        if over:
            jobs = {
                row["id"]: shapes.read(Job, row)
                for row in await self._run("read_jobs", [t.job_id for t in over])
            }
            for buffer in over:
                buffer.end(jobs.get(buffer.job_id))
                buffer.notify_readers()

    async def _follow_feed(self) -> None:
        feed = self._feed
        if feed is None:
            return
        if not feed.ready and self._has_reached(feed.start):
            feed.cursor, feed.ready = feed.start or 0, True
            feed.notify_readers()
        for _ in range(_PAGES_A_TURN):
            if not feed.ready or feed.cursor >= self._watermark.decided:
                break
            found = await self._run("read_feed", feed.cursor, self._watermark.decided, _PAGE)
            for row in found:
                feed.append(change_event(row), row["id"])
            if len(found) < _PAGE:
                feed.cursor = self._watermark.decided  # ids that are missing were rolled back or deleted
            feed.notify_readers()

    async def _follow_alarms(self, now: float) -> None:
        if now - self._alarmed_at < _ALARMS or not any(buffer.ready for buffer in self._followed):
            return
        self._alarmed_at = now
        found = {
            row["id"]: dict(row) for row in await self._run("list_alarms", True, None, _ALARMS_SHOWN, None)
        }
        if self._alarms is not None:
            changed = [row for number, row in sorted(found.items()) if self._alarms.get(number) != row]
            self._send(*(event("alarm", shapes.document(shapes.read(Alarm, row))) for row in changed))
        self._alarms = found

    async def _follow_pulse(self, now: float) -> None:
        pulse = self._pulse
        if pulse is None or now - self._pulsed_at < _PULSE or not self._has_reached(pulse.start):
            return
        self._pulsed_at = now
        if not pulse.ready:
            pulse.ready, self._pulsed = True, pulse.start or 0
        elif self._pulsed < self._watermark.decided:
            found = await self._run("count_transitions", self._pulsed, self._watermark.decided)
            self._pulsed = self._watermark.decided
            edges = [
                {"verb": row["verb"], "from": row["from_state"], "to": row["to_state"], "count": row["count"]}
                for row in found
            ]
            if edges:
                pulse.append(event("pulse", {"at": datetime.now(UTC), "edges": edges}))
        pulse.notify_readers()

    async def _follow_activity(self, now: float) -> None:
        """Send the counts of accepted and picked jobs, which leave no history."""
        if now - self._active_at < _ACTIVITY or not any(buffer.ready for buffer in self._followed):
            return
        self._active_at = now
        counts, decided = self._activity, self._watermark.decided
        (row,) = await self._kairos.store.run(counts.query(now, decided))
        if (news := counts.add(row, now, decided)) is not None:
            self._send(event("counts", news))

    async def _follow_lists(self, now: float) -> None:
        """Send the names of the lists that changed without a change of a job; `jobs` if one came due."""
        pulse = self._pulse
        if pulse is None or not pulse.ready or now - self._listed_at < _LISTS:
            return
        self._listed_at = now
        found = {
            row["list"]: row["mark"] for row in await self._run("read_list_versions", LIVE_FOR, _LINES, None)
        }
        if self._lists is not None:
            changed = sorted(name for name, mark in found.items() if self._lists.get(name) != mark)
            if changed:
                pulse.append(event("lists", {"changed": changed}))
                pulse.notify_readers()
        self._lists = found

    def _begin_pulse(self) -> None:
        """Send `begin` once every kind of event is followed; readers that come later are sent it first."""
        pulse = self._pulse
        if pulse is not None and not pulse.snapshot and self.is_ready:
            pulse.snapshot = event("begin", {})
            pulse.append(pulse.snapshot)
            pulse.notify_readers()

    def _has_reached(self, start: int | None) -> bool:
        """Whether the watermark has reached `start`: everything after it is new to the first reader."""
        return start is not None and self._watermark.known and self._watermark.decided >= start

    # Pages for readers that are behind

    def _lines_of(self, job_id: int) -> Callable[[int, int], Any]:
        async def read(after: int) -> tuple[Sequence[Entry], bool]:
            found = await self._run("page_logs", job_id, after, _PAGE, _PAGE_BYTES)
            entries = [Entry(row["cursor"], log_event(shapes.read(LogRow, row))) for row in found]
            return entries, _is_full(found)

        async def page(after: int, upto: int) -> Sequence[Entry]:
            return await self._pages.read((job_id, after), upto, read)

        return page

    async def _changes(self, after: int, upto: int) -> Sequence[Entry]:
        async def read(after: int) -> tuple[Sequence[Entry], bool]:
            found = await self._run("read_feed", after, upto, _PAGE)
            return [Entry(row["id"], change_event(row)) for row in found], len(found) == _PAGE

        return await self._pages.read((None, after), upto, read)

    async def _run(self, name: str, *params: Any) -> Sequence[Row]:
        return await self._kairos.store.run(Query(name, params))


def _older(lines: Sequence[Row], instant: datetime | None) -> list[Row]:
    """Return the lines before the first one that is younger than the instant, if there is one."""
    return list(takewhile(lambda line: instant is None or line["at"] <= instant, lines))


def _is_full(lines: Sequence[Row]) -> bool:
    """Whether a page of log lines ended at one of its limits, so that others may follow."""
    return len(lines) >= _PAGE or (bool(lines) and lines[-1]["bytes"] >= _PAGE_BYTES)
