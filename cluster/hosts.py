"""Hosts of a private network: each is a network namespace with an address on one bridge.

A namespace lives as long as a process of it. Each host has one process that only sleeps and holds the namespace, so
that nothing is left of a network when its processes have ended. A host whose packets are dropped is like one whose
cable is pulled: connections are neither refused nor answered.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from cluster.requirements import program

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_PREFIX = "10.99.0."
_CUT = """
table inet cut {
  chain incoming {
    type filter hook input priority 0; policy drop;
    iif "lo" accept
  }
  chain outgoing {
    type filter hook output priority 0; policy drop;
    oif "lo" accept
  }
}
"""
T = TypeVar("T")


class Network:
    """A bridge, and the hosts that are connected to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hosts: dict[str, Host] = {}
        self._switch = _hold_namespace()
        _run_in(self._switch.pid, program("ip"), "link", "add", "switch", "type", "bridge")
        _run_in(self._switch.pid, program("ip"), "link", "set", "switch", "up")

    def add(self, name: str) -> Host:
        """Add a host with the next address."""
        number = len(self.hosts) + 10
        host = Host(name, f"{_PREFIX}{number}", self.folder)
        ip, port = program("ip"), f"port{number}"
        pair = ("type", "veth", "peer", "name", "eth0", "netns", str(host.holder))
        _run_in(self._switch.pid, ip, "link", "add", port, *pair)
        _run_in(self._switch.pid, ip, "link", "set", port, "master", "switch", "up")
        _run_in(host.holder, ip, "address", "add", f"{host.address}/24", "dev", "eth0")
        _run_in(host.holder, ip, "link", "set", "eth0", "up")
        _run_in(host.holder, ip, "link", "set", "lo", "up")
        self.hosts[name] = host
        return host

    def close(self) -> None:
        """End every process of every host, and with them the network."""
        for host in self.hosts.values():
            host.kill()
        for host in self.hosts.values():
            host.release()
        self._switch.kill()
        self._switch.wait()


class Host:
    """One host. Its processes are those in its namespace, no matter which process started them."""

    def __init__(self, name: str, address: str, folder: Path) -> None:
        self.name = name
        self.address = address
        self._folder = folder
        self._holder = _hold_namespace()
        self._started: list[subprocess.Popen[bytes]] = []

    @property
    def holder(self) -> int:
        return self._holder.pid

    def start(self, name: str, *command: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a program on this host; its output is in the file `<host>.<name>.log` of the folder."""
        with (self._folder / f"{self.name}.{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [program("nsenter"), f"--net=/proc/{self.holder}/ns/net", *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def call(self, function: Callable[[], T]) -> T:
        """Run a function in a thread of this process that is on this host; its sockets are too."""
        answers: list[T] = []
        failures: list[BaseException] = []

        def run() -> None:
            try:
                self.enter()
                answers.append(function())
            except Exception as error:  # noqa: BLE001 - raised again below
                failures.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join()
        if failures:
            raise failures[0]
        return answers[0]

    def enter(self) -> None:
        """Move the calling thread to this host, for good."""
        with Path(f"/proc/{self.holder}/ns/net").open() as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _NEW_NETWORK) != 0:
                raise OSError(ctypes.get_errno(), f"host {self.name} cannot be entered")

    def processes(self) -> list[int]:
        """Return the processes of this host but the one that holds it."""
        mine = _namespace(self.holder)
        found = []
        for each in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if _namespace(int(each.name)) == mine and int(each.name) != self.holder:
                    found.append(int(each.name))
        return found

    def living(self) -> list[int]:
        """Return the processes of this host, without zombies."""
        for each in self._started:
            each.poll()
        return self.processes()

    def kill(self) -> None:
        """Kill everything that runs here, as a power cut does."""
        deadline = time.monotonic() + 30
        while (living := self.living()) and time.monotonic() < deadline:
            for pid in living:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        for each in self._started:
            each.wait()
        self._started = []

    def release(self) -> None:
        self._holder.kill()
        self._holder.wait()

    def cut_off(self) -> None:
        """Drop every packet from and to this host."""
        _run_in(self.holder, program("nft"), "-f", "-", given=_CUT)

    def lose_packets_of(self, other: Host, port: int) -> None:
        """Drop what a port of another host sends here, and nothing else."""
        rule = f"ip saddr {other.address} tcp sport {port} drop"
        table = "table inet cut {\nchain incoming {\ntype filter hook input priority 0\n%s\n}\n}\n"
        _run_in(self.holder, program("nft"), "-f", "-", given=table % rule)

    def reconnect(self) -> None:
        """Drop no packets any more."""
        _run_in(self.holder, program("nft"), "delete", "table", "inet", "cut")


def _hold_namespace() -> subprocess.Popen[bytes]:
    """Start the process that holds a new namespace, and wait until it is in it."""
    process = subprocess.Popen([program("unshare"), "--net", "sleep", "infinity"], start_new_session=True)
    deadline = time.monotonic() + 10
    while _namespace(process.pid) == _namespace(os.getpid()):
        if time.monotonic() > deadline or process.poll() is not None:
            raise TimeoutError("no network namespace could be made")
        time.sleep(0.005)
    return process


def _namespace(pid: int) -> str:
    return str(Path(f"/proc/{pid}/ns/net").readlink())


def _run_in(pid: int, *command: str, given: str | None = None) -> None:
    entered: Sequence[Any] = [program("nsenter"), f"--net=/proc/{pid}/ns/net", *command]
    done = subprocess.run(entered, input=given, text=True, capture_output=True, check=False, timeout=30)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
