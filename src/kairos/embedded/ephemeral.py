"""Stop a test's server and remove its data when the process ends, even by kill -9."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kairos.embedded.server_watchdog import PipedProcess

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


class Watcher(PipedProcess):
    """Cleans up after this process: `finish` does so at once, and waits until it is done."""

    def __init__(self, data: Path, socket_directory: Path) -> None:
        super().__init__(WATCHER, "kairos-watcher", data, socket_directory)
