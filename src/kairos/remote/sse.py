"""Follow server-sent events across reconnections, without gap or repetition."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import count
from typing import Any

from kairos.fsm.lifecycle import TERMINAL, JobState
from kairos.remote.exchange import ConnectionLost, Exchange, HttpRequest, Item, ReadLine, backoff, open_stream
from kairos.store.query import Pause


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream: its name, its data, and the cursor to continue after."""

    name: str
    data: Any
    cursor: int | None = None


def follow(path: str, cursor: int | None, tries: int, *, ends: bool) -> Exchange[None]:
    """Yield the events of a stream. If it `ends`, it is that of a job and stops at its final status."""
    failures = 0
    state: Any = None
    for connection in count():
        if connection:
            failures += 1
            yield Pause(backoff(failures))
        headers = {} if cursor is None else {"Last-Event-ID": str(cursor)}
        yield from open_stream(HttpRequest("GET", path, headers=headers, repeatable=True), tries)
        fields: dict[str, str] = {}
        while isinstance(line := (yield ReadLine()), str):
            if line:
                name, _, value = line.partition(":")
                fields[name] = value.removeprefix(" ")
                continue
            event, fields = _event(fields), {}
            if event is None:
                continue
            failures = 0
            if event.cursor is not None:
                if cursor is not None and event.cursor <= cursor:
                    continue  # already seen before the reconnection
                cursor = event.cursor
            if event.name == "status":
                if event.data["state"] == state:
                    continue  # the first event of every connection; the same as before
                state = event.data["state"]
            yield Item(event)
            if ends and event.name == "status" and JobState(state) in TERMINAL:
                return
        assert line is None or isinstance(line, ConnectionLost)


def _event(fields: dict[str, str]) -> Event | None:
    """Parse an event from its lines; None for comments."""
    if "event" not in fields or "data" not in fields:
        return None
    mark = fields.get("id")
    return Event(fields["event"], json.loads(fields["data"]), None if mark is None else int(mark))
