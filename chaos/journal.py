"""What happened, told by those to whom it happened: one JSON line per event, in a file opened for appending.

Each line is one `write`, and the clocks are the machine's own: the order of the lines needs no trust in Kairos.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any


class Journal:
    """The journal of a run. A reader reads each line once, however often it asks."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._read: list[dict[str, Any]] = []
        self._offset = 0

    def tell(self, event: str, **values: Any) -> None:
        """`t` orders events on this machine; `wall` compares them with Postgres's own clock."""
        line = {"e": event, "t": time.monotonic(), "wall": time.time(), "pid": os.getpid(), **values}
        os.write(self._fd, json.dumps(line).encode() + b"\n")

    def step(self, event: str, ctx: Any, **values: Any) -> None:
        self.tell(event, job=ctx.id, step=ctx.step, lease=ctx.lease, attempt=ctx.attempt, **values)

    def read(self) -> list[dict[str, Any]]:
        """Every line so far."""
        self.news()
        return list(self._read)

    def news(self) -> list[dict[str, Any]]:
        """The lines that were written since this was last asked, by this reader of the file."""
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
