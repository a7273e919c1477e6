"""Kairos processes that can be killed, and a look at what they leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kairos.embedded.account import choose_account
from kairos.embedded.processes import Process, live_processes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FAST = {"fsync": "off"}  # we kill processes, not the machine

# A process that uses the server until its standard input ends; kill it for a crash.
PROGRAM = """
import sys
from contextlib import suppress
from pathlib import Path
from kairos.embedded import Server
how = {name: name in sys.argv for name in ("ephemeral", "watched")}
server = Server(Path(sys.argv[1]), settings={"fsync": "off"}, **how)
print(server.start(), flush=True)
sys.stdin.read()
server.stop()
"""


class User:
    """Another Kairos process that uses a data directory."""

    def __init__(
        self, data: Path, *arguments: str, prefix: Sequence[str] = (), python: str = sys.executable
    ) -> None:
        command = [*prefix, python, "-c", PROGRAM, data, *arguments]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def url(self) -> str:
        """Wait until it has the server, and return the server's URL."""
        assert self.process.stdout and self.process.stderr
        line = self.process.stdout.readline().strip()
        return line or pytest.fail(self.process.stderr.read())

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def leave(self) -> None:
        _, errors = self.process.communicate()
        assert self.process.returncode == 0, errors

    def fail(self) -> str:
        """Wait until it has failed, and return what it said."""
        output, errors = self.process.communicate()
        assert self.process.returncode != 0, output
        return errors


def until(fact: Callable[[], object], seconds: float = 120.0) -> None:
    """Wait for something to become true; fail if it does not."""
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.01)


def processes(data: Path) -> list[Process]:
    return live_processes(data / "postgres", choose_account())


def watchdogs(data: Path) -> list[int]:
    """The processes that would stop the server if this one were killed."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            words = file.read_bytes().split(b"\0")
            if b"kairos-server-watchdog" in words and str(data).encode() in words:
                found.append(int(file.parent.name))
    return found


def postmaster(data: Path) -> int:
    return next(process.pid for process in processes(data) if process.is_postmaster)


def lives(pid: int) -> bool:
    """Whether there is such a process; a zombie is none."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def kill_postgres(data: Path) -> int:
    """Kill the postmaster with -9, and return the pid it had."""
    pid = postmaster(data)
    os.kill(pid, signal.SIGKILL)
    return pid
