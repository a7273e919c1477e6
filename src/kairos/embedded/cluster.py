"""Create, start, recover and stop a Postgres cluster on disk. The caller holds the directory's lock."""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kairos.embedded.account import Account, choose_account
from kairos.embedded.binaries import SETTING, copy_binaries, find_binaries, major_version
from kairos.embedded.processes import answers, live_processes
from kairos.errors import ConfigError, DatabaseUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

USER = "kairos"
PORT = 5432  # only names the socket file: nothing listens on the network
TIMEOUT = 60.0  # seconds for a start, a recovery or a stop
KILL_AFTER = 20.0  # seconds between a fast shutdown and SIGKILL
LOG_LIMIT = 10 * 2**20  # bytes of the log, and of the old log that is kept when it is rotated
# Pipes the first argument into a command. The shell has the lock file as its input and so holds the lock: if this
# process is killed, the next one waits until the command has ended. The command does not hold it, for it may be the
# server.
_PIPED_INPUT = r'text=$1; shift; printf "%s\n" "$text" | "$@"; exit $?'
SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "max_connections": "200",
    "search_path": "public",  # the user is called kairos, so its unqualified tables would land in our schema
    "timezone": "UTC",
    "log_timezone": "UTC",
}


class Cluster:
    """The cluster `data/postgres`; its server listens in `socket_directory`, logs to `data/postgres.log`."""

    def __init__(self, data: Path, socket_directory: Path) -> None:
        self.directory = data / "postgres"
        self.log = data / "postgres.log"
        self._data = data
        self._socket = socket_directory / f".s.PGSQL.{PORT}"

    @cached_property
    def _account(self) -> Account:
        return choose_account()

    def answers(self) -> bool:
        return answers(self._socket, user=USER, database="postgres")

    def log_is_full(self) -> bool:
        return self.log.exists() and self.log.stat().st_size > LOG_LIMIT

    def trim_log(self) -> None:
        """Truncate a log that is too large and keep its end as `postgres.log.old`.

        Postgres opens the log for appending, so it need not be signalled; lines written during the copy are lost.
        """
        if not self.log_is_full():
            return
        with self.log.open("r+b") as log, Path(f"{self.log}.old").open("wb") as kept:
            log.seek(-LOG_LIMIT, os.SEEK_END)
            shutil.copyfileobj(log, kept)
            log.truncate(0)

    def launch(self, settings: Mapping[str, str], lock: int) -> None:
        """Start the server, cleaning up after a crashed one first; `lock` is the caller's open lock file."""
        if self._is_running():
            return
        self._remove_stale_files()
        binaries = find_binaries()
        self._take_ownership()
        if not self._account.can_run("test", "-x", str(binaries / "postgres")):
            binaries = copy_binaries(binaries, self._data / f"binaries-{major_version(binaries)}")
        if self.directory.exists():
            self._check_version(binaries)
        else:
            self._make(binaries, lock, durable=settings.get("fsync") != "off")
        self._start(binaries, settings, lock)

    def shut_down(self) -> None:
        """Stop the server: clients are cut off, open transactions roll back, nothing committed is lost."""
        self._end(signal.SIGINT, then=signal.SIGQUIT)
        self._remove_stale_files()
        if self._data not in self._socket.parents:
            shutil.rmtree(self._socket.parent, ignore_errors=True)

    def _is_running(self) -> bool:
        """Return whether a server already runs here; wait for one that is starting, end orphans of a dead one."""
        deadline = time.monotonic() + TIMEOUT
        while living := live_processes(self.directory, self._account):
            if self.answers():
                return True
            if not any(process.is_postmaster for process in living):
                self._end(signal.SIGQUIT, then=signal.SIGKILL)
            elif time.monotonic() > deadline:
                raise DatabaseUnavailable(
                    f"Postgres (pid {living[0].pid}) has {self.directory} open but accepts no connections at "
                    f"{self._socket}: end it, or wait for it. Its log ends:\n{self._log_tail(0)}"
                )
            time.sleep(0.02)
        # Postgres in another pid namespace, on a shared volume, is not in /proc but answers all the same.
        return self.answers()

    def _end(self, gently: signal.Signals, *, then: signal.Signals) -> None:
        """End the postmaster, with which its children end, or children that outlived their postmaster.

        Sends the signal `gently`, and `then` another one if that takes too long.
        """
        started = time.monotonic()
        sent: set[tuple[int, signal.Signals]] = set()
        while living := live_processes(self.directory, self._account):
            waited = time.monotonic() - started
            if waited > TIMEOUT:
                pids = ", ".join(str(process.pid) for process in living)
                raise DatabaseUnavailable(
                    f"Postgres in {self.directory} does not stop (pid {pids}): kill it by hand."
                )
            number = then if waited > KILL_AFTER else gently
            for pid in [process.pid for process in living if process.is_postmaster] or [
                p.pid for p in living
            ]:
                if (pid, number) not in sent:
                    sent.add((pid, number))
                    with suppress(ProcessLookupError):
                        os.kill(pid, number)
            time.sleep(0.02)

    def _remove_stale_files(self) -> None:
        """Remove the pid and lock files that kill -9 leaves behind; only safe once no server process is left."""
        for left in (self.directory / "postmaster.pid", self._socket, Path(f"{self._socket}.lock")):
            left.unlink(missing_ok=True)

    def _take_ownership(self) -> None:
        """Make the server's account the owner of the data, and check that it can reach it."""
        ours = {os.getuid(), self._account.uid} | (
            {0, pwd.getpwnam("nobody").pw_uid} if os.getuid() == 0 else set()
        )
        _private_directory(self._socket.parent, ours)
        for path in (self._data, self.directory):
            owner = path.stat().st_uid if path.exists() else self._account.uid
            if owner not in ours:
                raise ConfigError(
                    f"{path} belongs to uid {owner}: run Kairos as that user, or choose another directory."
                )
            if owner != self._account.uid:
                for each in (path, *path.rglob("*")):
                    os.chown(each, self._account.uid, self._account.gid, follow_symlinks=False)
        os.chown(self._socket.parent, self._account.uid, self._account.gid)
        if not self._account.can_run("test", "-w", str(self._data)):
            raise ConfigError(
                f"Postgres refuses to run as root, and the account it runs as may not write to {self._data}: "
                "choose a data directory that all users may enter, or run Kairos as an ordinary user."
            )

    def _check_version(self, binaries: Path) -> None:
        try:
            made_by = (self.directory / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            raise ConfigError(f"{self.directory} is not a Postgres cluster: it has no PG_VERSION.") from None
        if (found := major_version(binaries)) != made_by:
            raise ConfigError(
                f"{self.directory} was made by Postgres {made_by}, but {binaries} is Postgres {found}: set "
                f"{SETTING} to the programs of a Postgres {made_by}, or choose a new data directory."
            )

    def _make(self, binaries: Path, lock: int, *, durable: bool) -> None:
        """Create the cluster under a temporary name, then rename it, so that it exists whole or not at all."""
        for unfinished in self._data.glob("postgres.new-*"):
            shutil.rmtree(unfinished, ignore_errors=True)  # the next attempt removes what is left
        aside = Path(tempfile.mkdtemp(prefix="postgres.new-", dir=self._data))
        os.chown(aside, self._account.uid, self._account.gid)
        options = ["--auth=trust", f"--username={USER}", "--encoding=UTF8", "--locale=C"]
        options += [] if durable else ["--no-sync"]
        self._run(lock, binaries / "initdb", *options, "-D", aside.name)
        # Single-user mode needs neither a driver nor psql; after an error it continues, and prints it.
        single = ["--single", "-D", aside.name, "postgres"]
        printed = self._run(lock, binaries / "postgres", *single, text=f"create database {USER}")
        if "ERROR" in printed or "FATAL" in printed:
            raise DatabaseUnavailable(f"The database {USER} could not be created in {aside}:\n{printed}")
        aside.rename(self.directory)

    def _start(self, binaries: Path, settings: Mapping[str, str], lock: int) -> None:
        chosen = {**SETTINGS, "unix_socket_directories": str(self._socket.parent), **settings}
        options = shlex.join(part for name, value in chosen.items() for part in ("-c", f"{name}={value}"))
        spoken = self.log.stat().st_size if self.log.exists() else 0
        where = ["-D", self.directory.name, "-l", self.log.name]
        try:
            self._run(lock, binaries / "pg_ctl", "start", "-w", "-t", f"{TIMEOUT:.0f}", *where, "-o", options)
        except DatabaseUnavailable as error:
            if self._is_running():  # another process, since killed, had begun to start it
                return
            raise DatabaseUnavailable(
                f"Postgres did not start: {error.message}\nIts log ends:\n{self._log_tail(spoken)}"
            ) from error

    def _run(self, lock: int, program: Path, *arguments: str, text: str = "") -> str:
        """Run a program as the server's account, in the data directory, with `text` as input; return its output.

        Paths are relative: pg_ctl passes them through a shell, and an absolute path may contain anything.
        """
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_"))
        }
        with (
            tempfile.TemporaryFile() as printed
        ):  # a pipe would end the program by SIGPIPE if this process is killed
            done = subprocess.run(
                [*self._account.prefix, "sh", "-c", _PIPED_INPUT, "sh", text, program, *arguments],
                stdin=lock,
                stdout=printed,
                stderr=subprocess.STDOUT,
                cwd=self._data,
                env=environment | {"LC_ALL": "C"},
                timeout=TIMEOUT * 2,
                check=False,
            )
            printed.seek(0)
            answer = printed.read().decode(errors="replace").strip()
        if done.returncode != 0:
            raise DatabaseUnavailable(
                f"{program.name} failed in {self._data}, code {done.returncode}:\n{answer}"
            )
        return answer

    def _log_tail(self, since: int) -> str:
        if not self.log.exists():
            return "(no log)"
        with self.log.open("rb") as log:
            log.seek(max(since, self.log.stat().st_size - 8192))
            return "\n".join(log.read().decode(errors="replace").splitlines()[-12:])


def _private_directory(path: Path, owners: set[int]) -> None:
    """Make a directory that only we can enter, and refuse one that belongs to another account."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in owners:
        raise ConfigError(
            f"{path} belongs to another user (uid {found.st_uid}): remove it, Kairos needs it for its socket."
        )
    path.chmod(0o700)
