"""One data directory and the Postgres server that runs in it, shared by every Kairos process that uses it.

What lies in the data directory:

    postgres/       the cluster, created under another name and renamed when complete
    postgres.log    the server's log, the last 10 MB or so; .old is the part before that
    socket/         the Unix socket (in /tmp, if this path is too long for one)
    lock            locked during a start or a stop
    users           locked in shared mode by each process that uses the server
"""

from __future__ import annotations

import os
import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

from kairos.embedded.cluster import PORT, TIMEOUT, USER, Cluster
from kairos.embedded.ephemeral import Watcher
from kairos.embedded.locks import FileLock
from kairos.embedded.server_watchdog import ServerWatchdog
from kairos.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

SOCKET_PATH_LIMIT = 107  # bytes in sun_path, without its closing NUL


class Server:
    """A Postgres server in `data`, started by the first process to need it, stopped by the last to leave.

    Its methods block: from a coroutine, call them in a thread. `settings` are Postgres settings, used if this object
    is the one that starts the server. An `ephemeral` server owns `data`, which must be new or empty: the server
    ends with this process, however that ends, and `data` is removed. With `watched`, the server of a process that was
    killed is stopped too, unless others use it; otherwise it keeps running.
    """

    def __init__(
        self,
        data: Path,
        *,
        ephemeral: bool = False,
        watched: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.data = data.resolve()
        self._socket_directory = _socket_directory(self.data)
        self._cluster = Cluster(self.data, self._socket_directory)
        self._settings = dict(settings or {})
        self._lock = FileLock(self.data / "lock")
        self._users = FileLock(self.data / "users")
        self._ephemeral = ephemeral
        self._watcher: Watcher | None = None
        self._watched = watched
        self._watchdog: ServerWatchdog | None = None

    @property
    def log(self) -> Path:
        """The server's log file."""
        return self._cluster.log

    def url(self, database: str = USER) -> str:
        """Return the URL of a database in this server, for asyncpg and psycopg alike."""
        where = f"host={quote(str(self._socket_directory))}&port={PORT}"  # without a port, drivers use PGPORT
        return f"postgresql://{USER}@/{quote(database, safe='')}?{where}"

    def start(self) -> str:
        """Join the running server, or start it; return its URL.

        Call it again to bring back a server that died under its users.
        """
        self._make_data_directory()
        if self._watched and self._watchdog is None:
            self._watchdog = ServerWatchdog(self.data)
        with self._lock.exclusive(TIMEOUT * 2) as lock:
            self._cluster.trim_log()
            joined = self._users.share()
            try:
                if not self.is_alive():
                    self._cluster.launch(self._settings, lock)
            except BaseException:
                if joined:
                    self._users.release()
                raise
        return self.url()

    def stop(self) -> None:
        """Leave the server, and stop it if no other process uses it; do nothing without a `start` before."""
        if self._users.held:
            with self._lock.exclusive(TIMEOUT * 2):
                try:
                    if self._users.try_exclusive():
                        self._cluster.shut_down()
                finally:
                    self._users.release()
        if self._watcher is not None:
            self._watcher.finish()
            self._watcher = None
        if self._watchdog is not None:
            self._watchdog.stop()
            self._watchdog = None

    def discard_after_fork(self) -> None:
        """Close what a forked child inherited. The parent keeps its lock: closing a copied file unlocks nothing."""
        self._users.release()
        for each in (self._watcher, self._watchdog):
            if each is not None:
                each.discard_after_fork()
        self._watcher = self._watchdog = None

    def stop_unused(self) -> bool:
        """Stop the server if no process uses it; return whether it is stopped."""
        if not self.data.exists():
            return True
        with self._lock.exclusive(TIMEOUT * 2):
            self._users.share()
            try:
                unused = self._users.try_exclusive()
                if unused:
                    self._cluster.shut_down()
                return unused
            finally:
                self._users.release()

    def trim_log(self) -> None:
        """Keep the log of a long-running server from growing without bound."""
        if self._cluster.log_is_full():
            with self._lock.exclusive(TIMEOUT * 2):
                self._cluster.trim_log()

    def is_alive(self) -> bool:
        """Return whether the server accepts connections."""
        return self._cluster.answers()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _make_data_directory(self) -> None:
        if self._ephemeral and self._watcher is None:
            if self.data.exists() and any(self.data.iterdir()):
                raise ConfigError(
                    f"An ephemeral server removes its data directory, so {self.data} must be new or empty."
                )
            self._watcher = Watcher(self.data, self._socket_directory)
        self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(self.data, os.W_OK | os.X_OK):
            owner = self.data.stat().st_uid
            raise ConfigError(
                f"{self.data} belongs to uid {owner}: run Kairos as that user, or choose another directory."
            )


def _socket_directory(data: Path) -> Path:
    """Return the same short directory to every process that uses `data`.

    A socket's path is limited, and drivers split a host at commas: what does not fit is placed in /tmp.
    """
    inside = data / "socket"
    if (
        re.fullmatch(r"[\w./+-]+", str(inside), re.ASCII)
        and len(f"{inside}/.s.PGSQL.{PORT}") <= SOCKET_PATH_LIMIT
    ):
        return inside
    return Path("/tmp", f"kairos-{sha256(os.fsencode(data)).hexdigest()[:16]}")  # noqa: S108 - made private, and checked
