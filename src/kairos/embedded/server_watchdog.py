"""Stop the embedded server after its process was killed and could not stop it itself."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

# Only the watched process holds the other end of the pipe that is the standard input. A line means that the process
# stopped the server itself, end of file without a line that it was killed. Until then only this shell runs.
WAIT = 'read -r line || exec "$@"'
# Other users of the server, such as a worker of the killed process, may be about to exit as well. After this many
# seconds the server is left to them.
TIMEOUT = 20.0


class PipedProcess:
    """A small shell process that outlives this one, and whose standard input ends when this one does."""

    def __init__(self, script: str, name: str, *arguments: str | Path) -> None:
        reading, self._writing = os.pipe()
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", script, name, *arguments],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # signals of the terminal must not reach it
            )
        finally:
            os.close(reading)

    def discard_after_fork(self) -> None:
        """Close a forked child's copy of the pipe: only the parent's end must close it."""
        os.close(self._writing)

    def finish(self) -> None:
        """End its standard input, and wait until the process has ended."""
        os.close(self._writing)
        self._process.wait(timeout=30)


class ServerWatchdog(PipedProcess):
    """Stops the server after this process was killed, if no other process uses the server."""

    def __init__(self, data: Path) -> None:
        stop = (sys.executable, "-P", "-m", "kairos.embedded.server_watchdog", data)
        super().__init__(WAIT, "kairos-server-watchdog", *stop)

    def stop(self) -> None:
        """End the watchdog after the server was left or stopped normally."""
        with suppress(BrokenPipeError):  # the watchdog was killed
            os.write(self._writing, b"\n")
        self.finish()


def main() -> None:
    from kairos.embedded.server import Server

    server = Server(Path(sys.argv[1]))
    deadline = time.monotonic() + TIMEOUT
    while not server.stop_unused() and time.monotonic() < deadline:
        time.sleep(0.2)


if __name__ == "__main__":
    main()
