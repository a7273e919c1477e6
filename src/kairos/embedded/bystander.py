"""Stops the server that a process left behind: one that was killed, or told twice to end, could not do it itself."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

# Its standard input is a pipe that only the watched process holds open: a line says that all is in order, and the end
# of the pipe without one that nobody is left to say so. Until then it is a shell that sleeps.
WAIT = 'read -r said || exec "$@"'
# Whoever else uses the server may be about to leave with the one that died, as the worker beside it does; past this,
# it is theirs to stop.
PATIENCE = 20.0


class Bystander:
    """A small process that outlives this one, just long enough to stop the server if nobody else uses it."""

    def __init__(self, data: Path) -> None:
        reading, self._writing = os.pipe()
        stop = [sys.executable, "-P", "-m", "kairos.embedded.bystander", str(data)]
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", WAIT, "kairos-bystander", *stop],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # what ends a terminal, or its commands, must not reach it
            )
        finally:
            os.close(reading)

    def forget(self) -> None:
        """In a fork: let go of our copy of the pipe, whose end must be the end of our parent."""
        os.close(self._writing)

    def dismiss(self) -> None:
        """The server was left in good order: nothing is to be done."""
        with suppress(BrokenPipeError):  # somebody ended it
            os.write(self._writing, b"\n")
        os.close(self._writing)
        self._process.wait(timeout=30)


def main() -> None:
    from kairos.embedded.server import Server

    server = Server(Path(sys.argv[1]))
    deadline = time.monotonic() + PATIENCE
    while not server.stop_unused() and time.monotonic() < deadline:
        time.sleep(0.2)


if __name__ == "__main__":
    main()
