"""A process that runs one command and ends it, with all it started, when its worker says so or is gone.

It stands alone and imports nothing of Kairos: the worker starts it as a script, in the command's own bare
environment. The worker holds the other end of a socket. As long as that is open the command may run; once it
closes, by intent or by `kill -9`, the command's group gets SIGTERM, and SIGKILL after the grace.
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
    """Run `argv` to its end, or to its worker's; tell the worker how it ended."""
    prctl = _prctl()
    # What the command leaves behind, also in a session of its own, becomes ours to end.
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    ended, tell = os.pipe()
    signal.signal(signal.SIGCHLD, lambda *_: None)
    os.set_blocking(tell, False)
    signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    try:
        child = subprocess.Popen(
            argv, start_new_session=True, preexec_fn=lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        )
    except OSError as error:
        _say(channel, {"error": f"{error.strerror}: {error.filename or argv[0]}"})
        return
    _close_output()
    _wait(child, channel, ended, None)
    if child.poll() is None:
        _kill(child.pid, signal.SIGTERM)
        _wait(child, None, ended, time.monotonic() + grace)
    _end_all(child)
    _say(channel, {"exit": child.returncode})


def _wait(
    child: subprocess.Popen[bytes], channel: socket.socket | None, ended: int, until: float | None
) -> None:
    """Until the command ends, the worker's end of the channel closes, or the time is up."""
    while child.poll() is None:
        left = None if until is None else max(until - time.monotonic(), 0)
        sources: list[int | socket.socket] = [ended] if channel is None else [ended, channel]
        readable, _, _ = select.select(sources, [], [], left)
        if not readable or channel in readable:
            return
        os.read(ended, 4096)


def _end_all(child: subprocess.Popen[bytes]) -> None:
    """Kill the group, then whatever was orphaned to us, until nothing is left."""
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
    except OSError:  # no Linux: what left the group is beyond us
        return []


def _kill(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _close_output() -> None:
    """Let go of the pipes, so that they end when the command's own ends do."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)


def _say(channel: socket.socket, report: dict[str, object]) -> None:
    with suppress(OSError):  # the worker is gone
        channel.sendall(json.dumps(report).encode() + b"\n")


def _prctl() -> Callable[[int, int], object]:
    if sys.platform != "linux":
        return lambda option, value: None
    import ctypes

    library = ctypes.CDLL(None)
    return lambda option, value: library.prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    # A Ctrl-C or a service manager's signal is the worker's to interpret. Handlers and not SIG_IGN, which the
    # command would inherit.
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: None)
    main(socket.socket(fileno=int(sys.argv[1])), float(sys.argv[2]), sys.argv[3:])
