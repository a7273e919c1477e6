"""Stop a test's server and remove its data when the process ends, even by kill -9."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# Only the watched process holds the other end of the pipe that is the standard input: `cat` returns when that process
# ends, also by kill -9. Unlike PR_SET_PDEATHSIG this does not depend on the thread that started the server, and
# survives a change of account. A server whose /proc entry is unreadable ends itself a minute after losing its pid file.
WATCHER = """
cat >/dev/null
pid=$(head -n 1 "$1/postgres/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ] && [ "$(readlink "/proc/$pid/cwd")" = "$1/postgres" ]; then kill -QUIT "$pid"; fi
tries=0
until rm -rf -- "$1" "$2" 2>/dev/null || [ $tries -ge 100 ]; do tries=$((tries + 1)); sleep 0.1; done
"""


class Watcher:
    """A small process that waits for this one to end, then cleans up after it."""

    def __init__(self, data: Path, socket_directory: Path) -> None:
        reading, self._writing = os.pipe()
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", WATCHER, "kairos-watcher", data, socket_directory],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # a Ctrl-C in the terminal must not reach it
            )
        finally:
            os.close(reading)

    def discard_after_fork(self) -> None:
        """Close a forked child's copy of the pipe: only the parent's end must close it."""
        os.close(self._writing)

    def finish(self) -> None:
        """Clean up now, and wait until that is done."""
        os.close(self._writing)
        self._process.wait(timeout=30)
