"""The tails that streams read: the latest events, encoded once and shared by all readers of the same thing."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from kairos import documents
from kairos.fsm.lifecycle import TERMINAL, JobState
from kairos.store.query import Row
from kairos.store.rows import Job, LogRow, log_line

# How much of the past a tail keeps in memory; a reader that falls behind it reads from the database.
_ENTRIES, _BYTES = 2000, 1 << 20
_TERMINAL = frozenset(TERMINAL)
_RUNNING = JobState.RUNNING
# What JSON may hold, but some readers take for the end of a line.
_BREAKS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


class Entry(NamedTuple):
    """One event; `cursor` is set where a reader can resume after it."""

    cursor: int | None
    body: bytes


Page = Callable[[int, int], Awaitable[Sequence[Entry]]]


class Tail:
    """Events in order. A reader keeps only its place, so a thousand of them cost no more memory than one.

    `cursor` is that of the last event that has one. `page` reads from the database what lies between two cursors.
    """

    def __init__(self, page: Page | None = None) -> None:
        self.page = page
        self.readers = 0
        self.cursor = 0
        self.last = 0  # how many events there were
        self.start: int | None = None  # in the order of all changes, where its first reader came
        self.ready = False  # the first look at the database is done
        self.ended = False
        self.final: bytes = b""
        self.greeting: bytes = b""
        self._entries: deque[Entry] = deque()
        self._bytes = 0
        self._changed = asyncio.Event()

    def append(self, body: bytes, cursor: int | None = None) -> None:
        self._entries.append(Entry(cursor, body))
        self._bytes += len(body)
        self.last += 1
        if cursor is not None:
            self.cursor = cursor
        while len(self._entries) > _ENTRIES or (self._bytes > _BYTES and len(self._entries) > 1):
            self._bytes -= len(self._entries.popleft().body)

    def after(self, place: int) -> list[Entry] | None:
        """The events after a place; None if some of them are no longer here."""
        first = self.last - len(self._entries)
        return None if place < first else list(islice(self._entries, place - first, None))

    def tell(self) -> None:
        """Wake everyone who waits for a change."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def changed(self) -> None:
        await self._changed.wait()


class JobTail(Tail):
    """The lines and the states of one job."""

    def __init__(self, job_id: int, page: Page) -> None:
        super().__init__(page)
        self.job_id = job_id
        self.seen: int | None = None  # the last row of its history that was read
        self.state = ""
        self.gone = False

    @property
    def moves_soon(self) -> bool:
        return not self.ready or self.state in (JobState.PENDING, _RUNNING)

    def begin(self, row: Row) -> None:
        """The first look: what came before is read from the database by those who want it."""
        self.ready = True
        self.state, self.seen, self.cursor = row["state"], row["last"], row["cursor"] or 0
        self.greeting = b"" if row["ended"] else status(self.state)  # an end is told once, as the last event

    def go_on(self, row: Row, lines: Sequence[Row]) -> None:
        """What was committed since the last look: states and lines by their time, the lines in their own order."""
        states = self._states(row)
        self.seen = row["last"]
        for line in lines:
            at = line["at"].timestamp()
            while states and states[0][0] <= at:
                self.append(status(states.pop(0)[1]))
            self.append(log_event(log_line(line)), line["cursor"])
        for _, state in states:
            self.append(status(state))
        if not row["ended"]:
            self.state = row["state"]
            self.greeting = status(self.state)

    def end(self, job: Job | None) -> None:
        """The last event; without a job, it is no longer there."""
        self.ended = True
        self.final = b"" if job is None else final(job)

    def _states(self, row: Row) -> list[tuple[float, str]]:
        """Every state it has passed through. A run is told when it ends, so its beginning is put before that."""
        states: list[tuple[float, str]] = []
        now = self.state
        for source, target, at, began in json.loads(row["changes"] or "[]"):
            if source == _RUNNING and now != _RUNNING:
                states.append((began or at, _RUNNING))
            now = target
            if target not in _TERMINAL:
                states.append((at, target))
        if not row["ended"] and now != row["state"]:
            # A pick, or the time it was scheduled for: nothing records them but the row itself.
            states.append((row["since"], row["state"]))
        return states


def event(name: str, document: Any, cursor: int | None = None) -> bytes:
    """One event. Its data is one line of JSON: nothing in it can begin another."""
    mark = "" if cursor is None else f"id: {cursor}\n"
    return f"{mark}event: {name}\ndata: {documents.encode(document).translate(_BREAKS)}\n\n".encode()


def status(state: str) -> bytes:
    return event("status", {"state": state})


def final(job: Job) -> bytes:
    error = None if job.error is None else {"code": job.error_code, "message": job.error}
    return event("status", {"state": job.state, "output": job.output, "error": error})


def log_event(row: LogRow) -> bytes:
    shown = {name: value for name, value in documents.log_line(row).items() if value is not None}
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
