"""Find the Postgres processes of a data directory, and check whether the server accepts connections."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kairos.embedded.account import Account

PROC = Path("/proc")


class Process(NamedTuple):
    """A live Postgres process: a postmaster, or a child, whose postmaster may have ended."""

    pid: int
    is_postmaster: bool


def live_processes(cluster: Path, account: Account) -> list[Process]:
    """Return the Postgres processes whose working directory is `cluster`.

    A pid file proves nothing: the pid may have been reused, and a backend can outlive its postmaster.
    """
    if not cluster.exists():
        return []
    if not (PROC / "self").exists():
        return _by_pid_file(cluster)
    return list(_by_working_directory(cluster, account))


def answers(socket_path: Path, *, user: str, database: str) -> bool:
    """Return whether a server accepts connections at this socket; one that is still starting does not."""
    parameters = b"".join(word.encode() + b"\0" for word in ("user", user, "database", database))
    startup = struct.pack("!ii", 4 + 4 + len(parameters) + 1, 196608) + parameters + b"\0"
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(2.0)
        try:
            connection.connect(str(socket_path))
            connection.sendall(startup)
            answer = connection.recv(1)
            connection.sendall(struct.pack("!ci", b"X", 4))
        except OSError:
            return False
    return answer == b"R"  # an Authentication message; a refusal is "E"


def _by_working_directory(cluster: Path, account: Account) -> Iterator[Process]:
    wanted = cluster.stat()
    found: dict[int, tuple[int, bytes]] = {}
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if (entry / "comm").read_text().strip() != "postgres":
                continue
            here = _is_in(entry, wanted, account)
            title = (entry / "cmdline").read_bytes()
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # it ended in the meantime, or is a zombie
            continue
        if here:
            found[int(entry.name)] = (parent, title)
    for pid, (parent, title) in found.items():
        # A child renames itself "postgres: checkpointer" shortly after its birth; the postmaster keeps its name.
        yield Process(pid, parent not in found and not title.startswith(b"postgres: "))


def _is_in(process: Path, wanted: os.stat_result, account: Account) -> bool:
    cwd = process / "cwd"
    try:
        return os.path.samestat(cwd.stat(), wanted)
    except PermissionError:
        # In a container, root without CAP_SYS_PTRACE may not read this link, but the server's own account may.
        same = f'[ "$(stat -L -c %d:%i {cwd})" = {wanted.st_dev}:{wanted.st_ino} ]'
        return process.stat().st_uid == account.uid and account.can_run("sh", "-c", same)


def _by_pid_file(cluster: Path) -> list[Process]:
    """Return the postmaster by its pid file, for systems without /proc."""
    try:
        pid = int((cluster / "postmaster.pid").read_text().split("\n", 1)[0])
        os.kill(pid, 0)
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return []
    except PermissionError:  # the process belongs to another account: assume that it is the postmaster
        pass
    return [Process(pid, True)]
