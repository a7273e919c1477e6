"""A client without Kairos: it writes a row to each node again and again, and records when one was committed.

How long no write succeeds is the cluster's own pause: Patroni's failover, or a commit that waits for a lost standby.
Kairos is measured against it.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import psycopg

from cluster.database import Database
from cluster.hosts import Host

_EVERY = 0.05  # seconds
_OPTIONS = "connect_timeout=2&tcp_user_timeout=1500"


class Probe:
    """Write to each node from a thread of its own; only the primary accepts."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._stopped = threading.Event()
        self.written: list[float] = []  # monotonic times of commits

    def start(self) -> None:
        self._database.execute("create table probe (at timestamptz default now())")
        for node in self._database.nodes:
            threading.Thread(target=self._write, args=(node,), daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def _write(self, node: Host) -> None:
        self._database.operator.enter()
        url = f"{self._database.url(node).partition('?')[0]}?{_OPTIONS}"
        while not self._stopped.is_set():
            with suppress(psycopg.Error), psycopg.connect(url, autocommit=True) as connection:
                while not self._stopped.is_set():
                    connection.execute("insert into probe default values")
                    self.written.append(time.monotonic())
                    self._stopped.wait(_EVERY)
            self._stopped.wait(_EVERY)
