"""Buffers of the latest events, encoded once and shared by all readers of the same job or feed."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from kairos import serializers, shapes
from kairos.fsm.lifecycle import TERMINAL, JobState
from kairos.shapes.job import Job
from kairos.shapes.log_line import LogRow
from kairos.store.query import Row

# How many events and bytes a buffer keeps; a reader that falls behind reads from the database. The buffer of a job is
# smaller, because there may be as many of them as readers.
_ENTRIES, FEED_BYTES, _JOB_BYTES = 2000, 1 << 20, 128 * 1024
# Bytes that a reader is given at a time: a reader that stops reading holds little more than this.
CHUNK = 32 * 1024
_TERMINAL = frozenset(TERMINAL)
_RUNNING = JobState.RUNNING
# Escapes for characters that JSON allows in a string and that some clients take for the end of a line.
_LINE_BREAKS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


class Entry(NamedTuple):
    """One event; `cursor` is set where a reader can resume after it."""

    cursor: int | None
    body: bytes


Page = Callable[[int, int], Awaitable[Sequence[Entry]]]


class EventBuffer:
    """The latest events in order. A reader keeps only its position, so more readers need no more memory.

    `cursor` is that of the last event that has one. `page` reads the events between two cursors from the database.
    """

    def __init__(self, page: Page | None = None, max_bytes: int = FEED_BYTES) -> None:
        self.page = page
        self._max_bytes = max_bytes
        self.readers = 0
        self.cursor = 0
        self.last = 0  # how many events were appended so far
        self.start: int | None = None  # the newest history id when the first reader came
        self.ready = False  # the first poll is done
        self.ended = False
        self.final: bytes = b""
        self.snapshot: bytes = b""
        self._entries: deque[Entry] = deque()
        self._bytes = 0
        self._changed = asyncio.Event()

    def append(self, body: bytes, cursor: int | None = None) -> None:
        self._entries.append(Entry(cursor, body))
        self._bytes += len(body)
        self.last += 1
        if cursor is not None:
            self.cursor = cursor
        while len(self._entries) > _ENTRIES or self._bytes > self._max_bytes:
            self._bytes -= len(self._entries.popleft().body)

    def after(self, position: int) -> list[Entry] | None:
        """Return about a chunk of the events after a position; None if some of them were dropped from the buffer."""
        first = self.last - len(self._entries)
        if position < first:
            return None
        found: list[Entry] = []
        size = 0
        for entry in islice(self._entries, position - first, None):
            found.append(entry)
            size += len(entry.body)
            if size >= CHUNK:
                break
        return found

    def notify_readers(self) -> None:
        """Wake every reader that waits for a change."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def changed(self) -> None:
        await self._changed.wait()


class JobEventBuffer(EventBuffer):
    """The log lines, states and progress of one job."""

    def __init__(self, job_id: int, page: Page) -> None:
        super().__init__(page, _JOB_BYTES)
        self.job_id = job_id
        self.seen: int | None = None  # the id of the last history row that was read
        self.state = ""
        self.progress: str | None = None  # as it is stored
        self._touched: tuple[Any, Any] = (None, None)  # its last change, and the newest signal not taken
        self.gone = False  # the job was deleted

    @property
    def moves_soon(self) -> bool:
        """Whether the job is likely to change its state soon, so that it is polled often."""
        return not self.ready or self.state in (JobState.PENDING, _RUNNING)

    def begin(self, row: Row) -> None:
        """Start from the first poll; readers read older events from the database."""
        self.ready = True
        self.state, self.seen, self.cursor = row["state"], row["last"], row["cursor"] or 0
        self.progress = row["progress"]
        self._touched = (row["updated_at"], row["inbox"])
        self.snapshot = b"" if row["ended"] else self._snapshot()  # the end is sent once, as the last event

    def append_changes(self, row: Row, lines: Sequence[Row]) -> None:
        """Append what was committed since the last poll: states and log lines by time, lines in their own order."""
        states = self._states(row)
        touched = (row["updated_at"], row["inbox"])
        if touched != self._touched and not states and not row["ended"]:
            self.append(event("changed", {}))
        self._touched = touched
        self.seen = row["last"]
        for line in lines:
            at = line["at"].timestamp()
            while states and states[0][0] <= at:
                self.append(status(states.pop(0)[1]))
            self.append(log_event(shapes.read(LogRow, line)), line["cursor"])
        for _, state in states:
            self.append(status(state))
        if row["progress"] is not None and row["progress"] != self.progress:
            self.append(progress(row["progress"]))
        self.progress = row["progress"]
        if not row["ended"]:
            self.state = row["state"]
            self.snapshot = self._snapshot()

    def _snapshot(self) -> bytes:
        """Return the job's state and progress, for a new reader."""
        reported = b"" if self.progress is None else progress(self.progress)
        return status(self.state) + reported

    def end(self, job: Job | None) -> None:
        """Set the last event; None means that the job was deleted."""
        self.ended = True
        self.final = b"" if job is None else final(job)

    def _states(self, row: Row) -> list[tuple[float, str]]:
        """Return the states since the last poll. History records a run at its end, so its start is inserted before."""
        states: list[tuple[float, str]] = []
        now = self.state
        for source, target, at, began in json.loads(row["changes"] or "[]"):
            if source == _RUNNING and now != _RUNNING:
                states.append((began or at, _RUNNING))
            now = target
            if target not in _TERMINAL:
                states.append((at, target))
        if not row["ended"] and now != row["state"]:
            # The job was picked or came due: neither writes a history row.
            states.append((row["since"], row["state"]))
        return states


def chunks(bodies: Iterable[bytes]) -> Iterator[bytes]:
    """Regroup the bytes into pieces of at most `CHUNK`: the server copies each piece for each reader."""
    part: list[bytes] = []
    size = 0
    for body in bodies:
        if part and size + len(body) > CHUNK:
            yield b"".join(part)
            part, size = [], 0
        if len(body) > CHUNK:
            yield from (body[at : at + CHUNK] for at in range(0, len(body), CHUNK))
        else:
            part.append(body)
            size += len(body)
    if part:
        yield b"".join(part)


def event(name: str, document: Any, cursor: int | None = None) -> bytes:
    """Encode one event; its data is one line of JSON, so no value can start another event."""
    line = "" if cursor is None else f"id: {cursor}\n"
    return f"{line}event: {name}\ndata: {serializers.encode(document).translate(_LINE_BREAKS)}\n\n".encode()


def status(state: str) -> bytes:
    return event("status", {"state": state})


def progress(stored: str) -> bytes:
    return event("progress", json.loads(stored))


def final(job: Job) -> bytes:
    shown = shapes.document(job)
    return event("status", {name: shown[name] for name in ("state", "output", "error")})


def log_event(row: LogRow) -> bytes:
    shown = {name: value for name, value in shapes.document(row).items() if value is not None}
    return event("log", shown, row.cursor)


def change_event(row: Row) -> bytes:
    document = {
        "job": row["job_id"],
        "action": row["fsm"],
        "queue": row["queue"],
        "verb": row["verb"],
        "from": row["from_state"],
        "to": row["to_state"],
        "step": row["step"],
        "at": row["at"],
        "cursor": row["id"],
    }
    return event("change", document, row["id"])
