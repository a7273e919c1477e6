"""The keeper: a small process beside a worker that renews its leases and hands its jobs back when it dies.

It runs as a script of its own, so that a step that holds the worker's GIL, or blocks its event loop, cannot cost the
worker a lease. It imports nothing of Kairos: its configuration comes as one line of JSON on its standard input. After
that the worker sends only "bye", or dies. The keeper writes the times of its last renewal and last poll into memory
that both share, and tells the worker on its standard output of lost leases, cancel requests and errors.
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
from collections.abc import Generator, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

# A service manager sends SIGTERM to every process of the service; the keeper ignores it and follows the worker. The
# handler is installed before the slow imports.
if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: None)

import psycopg
from psycopg import RawCursor
from psycopg.rows import dict_row

_SLOT = struct.Struct("qqq")  # job, lease, whether a step of it has begun
_LAST_POLLS = 5
# Seconds until the next attempt after a failed renewal, or after one that did not find a lease.
_RETRY = 0.5
# Seconds for which the keeper of a dead worker tries to hand its jobs back.
_HAND_BACK_WITHIN = 60.0
T = TypeVar("T")


class _BoundedConnection(psycopg.Connection[Any]):
    """A connection that is closed when an answer takes longer than `answer_timeout` seconds."""

    answer_timeout: float

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **options: Any) -> T:
        return super().wait(self._bounded(gen), *args, **options)

    def _bounded(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        """Run the driver's exchange with the server with a deadline; the driver resumes it several times a second."""
        deadline = time.monotonic() + self.answer_timeout
        ready: Any = None
        while True:
            try:
                wanted = gen.send(ready)
            except StopIteration as end:
                answer: T = end.value
                return answer
            ready = yield wanted
            if not ready and time.monotonic() > deadline:
                self.pgconn.finish()
                raise psycopg.OperationalError(f"Postgres gave no answer within {self.answer_timeout:g} s")


class Keeper:
    def __init__(self, config: dict[str, Any]) -> None:
        self.url: str = config["url"]
        self.options: dict[str, Any] = config["options"]
        self.hosts: list[dict[str, Any]] = config["hosts"]
        self.answer_timeout: float = config["answer_timeout"]
        self.sql: dict[str, str] = config["sql"]
        self.worker: str = config["worker"]
        self.pid: int = config["pid"]
        self.lease = timedelta(seconds=config["lease"])
        self.interval: float = config["interval"]
        self.memory = mmap.mmap(config["fd"], 0)
        self._connection: _BoundedConnection | None = None
        # Leases that looked lost at the last poll. The outcome of such a job may just have been committed, and its
        # answer be on its way to the worker: only the second poll in a row is believed.
        self._suspects: set[tuple[int, int]] = set()

    def run(self) -> None:
        """Renew the leases until the worker says "bye" or dies; after a death, hand its jobs back."""
        watched = _watch(self.pid)
        pause = self.interval
        while True:
            ready, _, _ = select.select([sys.stdin, *watched], [], [], pause)
            if sys.stdin in ready and sys.stdin.readline().strip() == "bye":
                return
            if ready:
                self.hand_back()
                return
            soon = not self.renew() or self.polls_again_soon
            pause = min(self.interval, _RETRY) if soon else self.interval

    @property
    def polls_again_soon(self) -> bool:
        """Whether a lease was missing at the last renewal; it counts as lost if the next one misses it too."""
        return bool(self._suspects)

    def renew(self) -> bool:
        """Renew the worker's leases; return False if Postgres did not.

        A worker stopped by a signal is not renewed: it may never continue. A lease is reported lost only at the second
        renewal in a row that misses it.
        """
        asked_at = time.monotonic_ns()
        renewed_at, _, _ = _SLOT.unpack_from(self.memory, len(self.memory) - _SLOT.size)
        self._record_times(renewed_at, asked_at)
        held = dict(self.held())
        if not held or is_stopped(self.pid):
            return True
        try:
            rows = self._run("renew_leases", (list(held), list(held.values()), self.lease, self.worker))
        except psycopg.Error as error:
            _send({"error": str(error).splitlines()[0]})
            return False
        self._record_times(asked_at, asked_at)
        still_held = dict(self.held())
        missed = {
            (row["id"], held[row["id"]])
            for row in rows
            if row["lost"] and still_held.get(row["id"]) == held[row["id"]]
        }
        lost = sorted(missed & self._suspects)
        self._suspects = missed - self._suspects
        cancelled = [row["id"] for row in rows if row["cancel_requested"] and not row["lost"]]
        if lost or cancelled:
            _send({"lost": lost, "cancelled": cancelled})
        return True

    def hand_back(self) -> None:
        """Hand back the dead worker's jobs: release those whose step had not started, and reap the others.

        This runs several times, because it skips rows that the worker's last statement still locks. While the database
        is unavailable it retries, also beyond the lease: nobody else could reap the jobs meanwhile.
        """
        begun = [job for job, _, begun in self._slots() if begun]
        deadline = time.monotonic() + _HAND_BACK_WITHIN
        polls = 0
        while polls < _LAST_POLLS and time.monotonic() < deadline:
            try:
                queues = self._take_back(begun)
                self._run("remove_worker", (self.worker, timedelta(days=36500)))
                if queues:
                    self._run("notify_queues", (sorted(queues),))
                polls += 1
            except psycopg.Error:
                pass
            time.sleep(0.2)

    def _take_back(self, begun: list[int]) -> set[str]:
        """Release and reap the jobs; return their queues. If Postgres refuses, the cause may be one job: each is then
        taken back by itself.
        """
        actor = f"keeper of {self.worker}"
        try:
            rows = self._run("release_unstarted", (self.worker, begun))
            rows += self._run("reap_jobs", (100_000, self.worker, actor, None, []))
        except (psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction):
            raise
        except psycopg.Error:
            rows = []
            slots = [slot for slot in self._slots() if slot[0]]
            for job, _, has_begun in slots:
                with suppress(psycopg.errors.DatabaseError):
                    others = [other for other, _, _ in slots if other != job]
                    rows += (
                        self._run("reap_jobs", (1, self.worker, actor, job, []))
                        if has_begun
                        else self._run("release_unstarted", (self.worker, others))
                    )
        return {row["queue"] for row in rows}

    def held(self) -> Iterator[tuple[int, int]]:
        """Yield each job and its lease token, from the shared memory."""
        return ((job, lease) for job, lease, _ in self._slots() if job)

    def _slots(self) -> Iterator[tuple[int, int, int]]:
        return cast("Iterator[tuple[int, int, int]]", _SLOT.iter_unpack(self.memory[: -_SLOT.size]))

    def _record_times(self, renewed_at: int, looked_at: int) -> None:
        """Write the times of the last renewal and of the last check into the shared memory."""
        _SLOT.pack_into(self.memory, len(self.memory) - _SLOT.size, renewed_at, looked_at, 0)

    def _run(self, name: str, params: tuple[Any, ...]) -> list[dict[str, Any]]:
        if self._connection is None or self._connection.closed:
            self._connection = self._connect()
        with RawCursor(self._connection, row_factory=dict_row) as cursor:
            cursor.execute(self.sql[name].encode(), params)
            return cursor.fetchall() if cursor.description else []

    def _connect(self) -> _BoundedConnection:
        """Connect to the first host that answers, and try it first the next time."""
        for host in self.hosts:
            try:
                connection = _BoundedConnection.connect(
                    self.url, autocommit=True, prepare_threshold=None, **self.options, **host
                )
            except psycopg.Error as error:
                failure = error
                continue
            self.hosts.sort(key=lambda each: each != host)
            connection.answer_timeout = self.answer_timeout
            return connection
        raise failure


def is_stopped(pid: int) -> bool:
    """Whether the process is stopped by a signal such as SIGSTOP (not merely busy, nor traced by a debugger)."""
    stat = Path(f"/proc/{pid}/stat")
    if stat.exists():
        return stat.read_text().rpartition(")")[2].split()[0] == "T"
    shown = subprocess.run(
        ["/bin/ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return shown.stdout.strip().startswith("T")


def _watch(pid: int) -> list[int]:
    """Return a descriptor that becomes readable when the process ends, even if a forked child holds our pipe open.

    On platforms without pidfd the list is empty, and the end of the pipe is used alone.
    """
    if not hasattr(os, "pidfd_open"):
        return []
    try:
        return [os.pidfd_open(pid)]
    except OSError:
        return []


def _send(message: dict[str, Any]) -> None:
    try:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    except OSError:
        pass  # the worker has just died; `run` notices it and hands its jobs back


if __name__ == "__main__":
    Keeper(json.loads(sys.stdin.readline())).run()
