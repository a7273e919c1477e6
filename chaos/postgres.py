"""The Postgres of a run: a primary and a synchronous standby that can be crashed, filled, frozen and promoted."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg

from kairos.embedded import Server
from kairos.embedded.account import choose_account
from kairos.embedded.binaries import find_binaries

SETTINGS = {
    "max_wal_size": "256MB",
    "wal_keep_size": "512MB",
    "hot_standby": "on",
    "max_connections": "300",
    # A server that comes back after a crash asks for the same standby again.
    "wal_receiver_timeout": "5s",
    # Without this it would come back 5 seconds after each crash, and all commits would wait for it.
    "wal_retrieve_retry_interval": "500ms",
}
_ROOM = 4 << 30  # bytes of the small file system, of which nothing is used until it is written


class Cluster:
    """Every call blocks: use a thread. `primary` and `standby` change places at a failover."""

    def __init__(self, folder: Path, *, standby: bool) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="kairos-chaos-", dir=_data_root()))
        self._folder.chmod(0o755)
        self.folder = folder
        self._made = 0
        self._disks: set[Path] = set()
        self._wants_standby = standby
        self.standby: Server | None = None
        self._hanging: Server | None = None  # the primary before the last failover

    def start(self) -> None:
        self.primary = Server(self._place(), settings=SETTINGS)
        self.primary.start()
        if self._wants_standby:
            self.add_standby()

    def stop(self) -> None:
        for server in (self.primary, self.standby, self._hanging):
            if server is not None:
                self.kill(server)
                with suppress(Exception):  # what is left is in a folder that is removed
                    server.stop()
        for disk in self._disks:
            subprocess.run(["umount", "--lazy", str(disk)], check=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    # What can happen to it

    def crash(self) -> None:
        """Kill the postmaster and everything under it, and start it again."""
        self.kill(self.primary)
        self.primary.start()

    def promote(self, *, hang: bool) -> None:
        """The standby becomes the primary; the old one is killed, or hangs until `bury`."""
        assert self.standby is not None
        old, self.primary = self.primary, self.standby
        for pid in processes(old):
            _signal(pid, signal.SIGSTOP)
        if not hang:
            self.kill(old)
        promoted, self.standby = self.standby, None
        for pid in processes(promoted):  # one that does not answer cannot end in good order
            if "walreceiver" in title(pid):
                _signal(pid, signal.SIGKILL if _is_stopped(pid) else 0)
        self._hanging = old
        # Nothing waits for a standby until there is one again; no failover happens in between.
        _insist(self.primary, "select pg_promote(true, 60)")
        execute(self.primary, "alter system set synchronous_standby_names = ''", "select pg_reload_conf()")

    def bury(self) -> None:
        """Kill the primary that hangs: it must never answer again."""
        if self._hanging is not None:
            self.kill(self._hanging)

    def add_standby(self) -> None:
        """A copy of the primary that follows it, and that every commit waits for from now on."""
        place = self._place()
        account = choose_account()
        shutil.chown(place, account.uid, account.gid)
        where = parse_qs(urlsplit(self.primary.url()).query)
        program = find_binaries() / "pg_basebackup"
        copy = [str(program), "-h", where["host"][0], "-p", where["port"][0], "-U", "kairos"]
        copy += ["-D", str(place / "postgres"), "-X", "stream", "-R", "--checkpoint=fast", "--no-sync"]
        subprocess.run([*account.prefix, *copy], check=True, capture_output=True, timeout=120)
        self.standby = Server(place, settings=SETTINGS)
        self.standby.start()
        deadline = time.monotonic() + 30
        streaming = "select count(*) from pg_stat_replication where state = 'streaming'"
        while not _value(self.primary, streaming):
            if time.monotonic() > deadline:
                raise TimeoutError("the standby does not follow the primary")
            time.sleep(0.05)
        execute(self.primary, "alter system set synchronous_standby_names = '*'", "select pg_reload_conf()")

    @contextmanager
    def standby_behind(self) -> Iterator[None]:
        """The standby receives nothing: what is acknowledged meanwhile is on the primary alone, if nothing waits."""
        assert self.standby is not None
        receivers = [pid for pid in processes(self.standby) if "walreceiver" in title(pid)]
        for pid in receivers:
            _signal(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in receivers:
                _signal(pid, signal.SIGKILL)

    def fill_disk(self, full: bool) -> bool:
        """Leave no room on the primary's disk, or all of it again; answers whether there is such a disk."""
        disk = self.primary.data
        if disk not in self._disks:
            return False
        used = shutil.disk_usage(disk).used
        size = used + (256 << 10) if full else _ROOM
        remount = ["mount", "-o", f"remount,size={size}", str(disk)]
        return subprocess.run(remount, check=False, capture_output=True).returncode == 0

    def kill(self, server: Server) -> None:
        deadline = time.monotonic() + 30
        while (living := processes(server)) and time.monotonic() < deadline:
            for pid in living:
                _signal(pid, signal.SIGKILL)
            time.sleep(0.02)

    def _place(self) -> Path:
        self._made += 1
        place = self._folder / str(self._made)
        place.mkdir()
        if _mount(place):
            self._disks.add(place.resolve())
        return place

    @property
    def has_disk(self) -> bool:
        """Whether the primary has a file system of its own, which can be made too small."""
        return self.primary.data in self._disks


def processes(server: Server) -> list[int]:
    """The postmaster and all of its children."""
    home = str(server.data / "postgres")
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str((each / "cwd").readlink()) == home and "postgres" in (each / "comm").read_text():
                found.append(int(each.name))
    return found


def _is_stopped(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    return False


def title(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


def _data_root() -> Path | None:
    """In memory where there is room: what is to survive here is `kill -9`, not a power cut."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > _ROOM else None


def _mount(place: Path) -> bool:
    """Give a folder a file system of its own that can be made too small; answers whether one can be mounted."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_ROOM}", "tmpfs", str(place)]
    found = shutil.which("mount") is not None
    return found and subprocess.run(mount, check=False, capture_output=True).returncode == 0


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def execute(server: Server, *statements: str) -> None:
    """Waiting for nobody, whatever the server is told to wait for."""
    with psycopg.connect(server.url(), autocommit=True, options="-c synchronous_commit=local") as connection:
        for statement in statements:
            connection.execute(statement)


def _insist(server: Server, sql: str) -> None:
    """Until the server takes it: it may be recovering from the end of one of its processes."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return execute(server, sql)
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _value(server: Server, sql: str) -> object:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        row = connection.execute(sql).fetchone()
        return row[0] if row else None
