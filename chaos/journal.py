"""The journal of a run: steps, clients and the nemesis append one JSON line for each event to a file.

Each line is one `write` with the times of the machine's clocks, so the order of events does not depend on Kairos.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any


class Journal:
    """A handle on the journal's file; it parses each line only once."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._read: list[dict[str, Any]] = []
        self._offset = 0

    def write(self, event: str, **values: Any) -> None:
        """Append an event. `t` orders events on this machine; `wall` compares them with the clock of Postgres."""
        line = {"e": event, "t": time.monotonic(), "wall": time.time(), "pid": os.getpid(), **values}
        os.write(self._fd, json.dumps(line).encode() + b"\n")

    def step(self, event: str, ctx: Any, **values: Any) -> None:
        self.write(event, job=ctx.id, step=ctx.step, lease=ctx.lease, attempt=ctx.attempt, **values)

    def read(self) -> list[dict[str, Any]]:
        """Return every event so far."""
        self.read_new()
        return list(self._read)

    def read_new(self) -> list[dict[str, Any]]:
        """Return the events that were written since this object last read the file."""
        with self._path.open("rb") as file:
            file.seek(self._offset)
            whole, end, _ = file.read().rpartition(b"\n")
        self._offset += len(whole) + len(end)
        lines = [json.loads(line) for line in whole.splitlines()]
        self._read += lines
        return lines

    def events(self, event: str, **like: Any) -> list[dict[str, Any]]:
        wanted = {"e": event, **like}
        return [line for line in self.read() if wanted.items() <= line.items()]
