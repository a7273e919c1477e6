"""Supervise one command: end it and its child processes when the worker closes the channel or dies.

A script of its own that imports nothing of Kairos: the worker starts it in the command's own minimal environment and
holds the other end of a socket. While the socket is open the command may run. Once it closes, on purpose or by
`kill -9` of the worker, the command's process group gets SIGTERM, and SIGKILL after the grace period.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def main(channel: socket.socket, grace: float, argv: list[str]) -> None:
    """Run `argv` until it ends or the worker does; report the exit status to the worker."""
    prctl = _prctl()
    # Become the parent of orphans, so that daemons started by the command can be ended too.
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    ended, wakeup = os.pipe()
    signal.signal(signal.SIGCHLD, lambda *_: None)
    os.set_blocking(wakeup, False)
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    try:
        child = subprocess.Popen(
            argv, start_new_session=True, preexec_fn=lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        )
    except OSError as error:
        _report(channel, {"error": f"{error.strerror}: {error.filename or argv[0]}"})
        return
    _close_output()
    _wait(child, channel, ended, None)
    if child.poll() is None:
        _kill(child.pid, signal.SIGTERM)
        _wait(child, None, ended, time.monotonic() + grace)
    _end_all(child)
    _report(channel, {"exit": child.returncode})


def _wait(
    child: subprocess.Popen[bytes], channel: socket.socket | None, ended: int, until: float | None
) -> None:
    """Wait until the command ends, the worker closes the channel, or the time is up."""
    while child.poll() is None:
        left = None if until is None else max(until - time.monotonic(), 0)
        sources: list[int | socket.socket] = [ended] if channel is None else [ended, channel]
        readable, _, _ = select.select(sources, [], [], left)
        if not readable or channel in readable:
            return
        os.read(ended, 4096)


def _end_all(child: subprocess.Popen[bytes]) -> None:
    """Kill the process group, then the orphans that became our children, until none is left."""
    _kill(child.pid, signal.SIGKILL)
    child.wait()
    while orphans := _children():
        for pid in orphans:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(-1, 0)


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:  # noqa: PTH123 (pathlib is slow to import)
            return [int(word) for word in file.read().split()]
    except OSError:  # not Linux: processes that left the group cannot be found
        return []


def _kill(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _close_output() -> None:
    """Close our copies of the output pipes, so that they end when the command's own copies do."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)


def _report(channel: socket.socket, report: dict[str, object]) -> None:
    with suppress(OSError):  # the worker is gone
        channel.sendall(json.dumps(report).encode() + b"\n")


def _prctl() -> Callable[[int, int], object]:
    if sys.platform != "linux":
        return lambda option, value: None
    import ctypes

    library = ctypes.CDLL(None)
    return lambda option, value: library.prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    # The worker decides what a Ctrl-C or a service manager's signal means. Handlers instead of SIG_IGN, which the
    # command would inherit.
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: None)
    main(socket.socket(fileno=int(sys.argv[1])), float(sys.argv[2]), sys.argv[3:])
