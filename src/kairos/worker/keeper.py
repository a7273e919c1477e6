"""The keeper: a small process beside a worker that renews its leases and hands its jobs back when it dies.

It runs as a script of its own, so that a step that holds the worker's GIL, or blocks its event
loop, cannot cost the worker a lease. It imports nothing of Kairos: what it needs comes as one line
of JSON on its standard input. After that the worker says only "bye", or dies.
"""

from __future__ import annotations

import json
import mmap
import os
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

# A service manager tells every process of the service to stop: the worker decides what that means. At once,
# before the imports that take long.
if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: None)

import psycopg
from psycopg import RawCursor
from psycopg.rows import dict_row

_SLOT = struct.Struct("qqq")  # job, lease, whether a step of it has begun
# What a cut or half-open connection may cost before it counts as gone.
_CONNECT: dict[str, Any] = {
    "connect_timeout": 5,
    "tcp_user_timeout": 5000,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "application_name": "kairos keeper",
}


_LAST_LOOKS = 5


class Keeper:
    def __init__(self, config: dict[str, Any]) -> None:
        self.url: str = config["url"]
        self.sql: dict[str, str] = config["sql"]
        self.worker: str = config["worker"]
        self.pid: int = config["pid"]
        self.lease = timedelta(seconds=config["lease"])
        self.beat: float = config["beat"]
        self.memory = mmap.mmap(config["fd"], 0, prot=mmap.PROT_READ)
        self._connection: psycopg.Connection[Any] | None = None

    def run(self) -> None:
        """Beat until the worker says bye or dies; only a death is followed by a hand-back."""
        watched = _watch(self.pid)
        while True:
            ready, _, _ = select.select([sys.stdin, *watched], [], [], self.beat)
            if sys.stdin in ready and sys.stdin.readline().strip() == "bye":
                return
            if ready:
                self.hand_back()
                return
            self.renew()

    def renew(self) -> None:
        """Extend what the worker holds. A stopped worker is not renewed: it may never come back."""
        held = dict(self.held())
        if not held or is_stopped(self.pid):
            return
        try:
            rows = self._run("renew_leases", (list(held), list(held.values()), self.lease))
        except psycopg.Error as error:
            _say({"error": str(error).splitlines()[0]})
            return
        still_held = dict(self.held())
        lost = [
            (row["id"], held[row["id"]])
            for row in rows
            if row["lost"] and still_held.get(row["id"]) == held[row["id"]]
        ]
        cancelled = [row["id"] for row in rows if row["cancel_requested"] and not row["lost"]]
        if lost or cancelled:
            _say({"lost": lost, "cancelled": cancelled})

    def hand_back(self) -> None:
        """Give the dead worker's jobs to the others; while the database is away, try for a lease or a minute.

        What it had not begun yet is merely released. A row that a last statement of the worker still has
        locked is passed over, so a second look follows.
        """
        begun = [job for job, _, begun in _SLOT.iter_unpack(self.memory[:]) if begun]
        deadline = time.monotonic() + min(self.lease.total_seconds(), 60.0)
        looks = 0
        while looks < _LAST_LOOKS and time.monotonic() < deadline:
            try:
                queues = {row["queue"] for row in self._run("release_unheld", (self.worker, begun))}
                rows = self._run("reap_jobs", (100_000, self.worker, f"keeper of {self.worker}"))
                self._run("remove_worker", (self.worker, timedelta(days=36500)))
                if queues := queues | {row["queue"] for row in rows}:
                    self._run("notify_queues", (sorted(queues),))
                looks += 1
            except psycopg.Error:
                pass
            time.sleep(0.2)

    def held(self) -> Iterator[tuple[int, int]]:
        return ((job, lease) for job, lease, _ in _SLOT.iter_unpack(self.memory[:]) if job)

    def _run(self, name: str, params: tuple[Any, ...]) -> list[dict[str, Any]]:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self.url, autocommit=True, prepare_threshold=None, **_CONNECT)
        with RawCursor(self._connection, row_factory=dict_row) as cursor:
            cursor.execute(self.sql[name].encode(), params)
            return cursor.fetchall() if cursor.description else []


def is_stopped(pid: int) -> bool:
    """Whether the process is frozen by a stop signal (not merely busy, nor looked at by a debugger)."""
    stat = Path(f"/proc/{pid}/stat")
    if stat.exists():
        return stat.read_text().rpartition(")")[2].split()[0] == "T"
    shown = subprocess.run(
        ["/bin/ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return shown.stdout.strip().startswith("T")


def _watch(pid: int) -> list[int]:
    """A descriptor that becomes readable when the process ends, also when a forked child of it keeps
    our pipe open; where there is none, the end of the pipe has to do.
    """
    if not hasattr(os, "pidfd_open"):
        return []
    try:
        return [os.pidfd_open(pid)]
    except OSError:
        return []


def _say(message: dict[str, Any]) -> None:
    try:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    except OSError:
        pass  # the worker has just died; the next look at it will tell, and its jobs are handed back


if __name__ == "__main__":
    Keeper(json.loads(sys.stdin.readline())).run()
