"""The Postgres of a run: a primary and a synchronous standby that can be crashed, filled up, frozen and promoted."""

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
    # The standby notices a crash of the primary within this time.
    "wal_receiver_timeout": "5s",
    # By default the standby reconnects after 5 seconds, and all commits would wait for it.
    "wal_retrieve_retry_interval": "500ms",
}
_ROOM = 4 << 30  # bytes of the file system of a server; it is in memory, and uses only what is written


class Cluster:
    """The servers of a run. Every method blocks: call it in a thread. A failover changes `primary` and `standby`."""

    def __init__(self, folder: Path, *, standby: bool) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="kairos-chaos-", dir=_data_root()))
        self._folder.chmod(0o755)
        self.folder = folder
        self._made = 0
        self._disks: set[Path] = set()
        self._wants_standby = standby
        self.standby: Server | None = None
        self._old: Server | None = None  # the primary before the last failover

    def start(self) -> None:
        self.primary = Server(self._new_folder(), settings=SETTINGS)
        self.primary.start()
        if self._wants_standby:
            self.add_standby()

    def stop(self) -> None:
        for server in (self.primary, self.standby, self._old):
            if server is not None:
                self._end(server)
        for disk in self._disks:
            subprocess.run(["umount", "--lazy", str(disk)], check=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    # Faults

    def crash(self) -> None:
        """Kill the postmaster and everything under it, and start it again."""
        self.kill(self.primary)
        self.primary.start()

    def promote(self, *, hang: bool) -> None:
        """Promote the standby; the old primary is killed, or hangs until `remove_old_primary`."""
        assert self.standby is not None
        old, self.primary = self.primary, self.standby
        for pid in processes(old):
            _signal(pid, signal.SIGSTOP)
        if not hang:
            self.kill(old)
        promoted, self.standby = self.standby, None
        for pid in processes(
            promoted
        ):  # a receiver that is stopped would never end, and the promotion would wait for it
            if "walreceiver" in title(pid):
                _signal(pid, signal.SIGKILL if _is_stopped(pid) else 0)
        self._old = old
        # Commits wait for no standby until there is a new one; no failover happens in between.
        _execute_until_accepted(self.primary, "select pg_promote(true, 60)")
        execute(self.primary, "alter system set synchronous_standby_names = ''", "select pg_reload_conf()")

    def remove_old_primary(self) -> None:
        """Kill the old primary, which may hang, and free its disk: a long run makes dozens, all of them in memory."""
        if self._old is None:
            return
        self._end(self._old)
        disk, self._old = self._old.data, None
        if disk in self._disks:
            subprocess.run(["umount", str(disk)], check=True, timeout=60)
            self._disks.remove(disk)
        shutil.rmtree(disk)

    def add_standby(self) -> None:
        """Copy the primary to a new synchronous standby."""
        folder = self._new_folder()
        account = choose_account()
        shutil.chown(folder, account.uid, account.gid)
        where = parse_qs(urlsplit(self.primary.url()).query)
        program = find_binaries() / "pg_basebackup"
        copy = [str(program), "-h", where["host"][0], "-p", where["port"][0], "-U", "kairos"]
        copy += ["-D", str(folder / "postgres"), "-X", "stream", "-R", "--checkpoint=fast", "--no-sync"]
        subprocess.run([*account.prefix, *copy], check=True, capture_output=True, timeout=120)
        self.standby = Server(folder, settings=SETTINGS)
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
        """Stop the replication: commits that do not wait for the standby are only on the primary."""
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
        """Fill the disk of the primary, or give it its room again; return whether it has a disk of its own."""
        disk = self.primary.data
        if disk not in self._disks:
            return False
        used = shutil.disk_usage(disk).used
        size = used + (256 << 10) if full else _ROOM
        remount = ["mount", "-o", f"remount,size={size}", str(disk)]
        return subprocess.run(remount, check=False, capture_output=True).returncode == 0

    def _end(self, server: Server) -> None:
        self.kill(server)
        with suppress(Exception):  # what it says about its data does not matter: its folder is removed
            server.stop()  # closes its lock file

    def kill(self, server: Server) -> None:
        deadline = time.monotonic() + 30
        while (living := processes(server)) and time.monotonic() < deadline:
            for pid in living:
                _signal(pid, signal.SIGKILL)
            time.sleep(0.02)

    def _new_folder(self) -> Path:
        self._made += 1
        folder = self._folder / str(self._made)
        folder.mkdir()
        if _mount(folder):
            self._disks.add(folder.resolve())
        return folder

    @property
    def has_disk(self) -> bool:
        """Whether the primary has a file system of its own, which can be shrunk."""
        return self.primary.data in self._disks


def processes(server: Server) -> list[int]:
    """Return the process ids of the postmaster and its children."""
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
    """Return a folder in memory if there is room: the data must survive `kill -9`, not a power cut."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > _ROOM else None


def _mount(folder: Path) -> bool:
    """Mount a file system that can be shrunk; return whether that is allowed."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_ROOM}", "tmpfs", str(folder)]
    found = shutil.which("mount") is not None
    return found and subprocess.run(mount, check=False, capture_output=True).returncode == 0


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def execute(server: Server, *statements: str) -> None:
    """Execute statements without waiting for a standby."""
    with psycopg.connect(server.url(), autocommit=True, options="-c synchronous_commit=local") as connection:
        for statement in statements:
            connection.execute(statement)


def _execute_until_accepted(server: Server, sql: str) -> None:
    """Execute a statement, again and again while the server is recovering."""
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
