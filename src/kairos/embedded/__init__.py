"""The real Postgres that ships with Kairos: found, started, shared and stopped without configuration.

    with Server(Path(".kairos")) as server:
        connect(server.url())

`binaries` finds the programs, `account` chooses the account that runs them (Postgres refuses root), `processes` finds
live server processes, `cluster` creates and runs one data directory, `server` shares it between processes, `ephemeral`
stops the servers of tests, `server_watchdog` stops a server whose process was killed.
"""

from kairos.embedded.binaries import find_binaries
from kairos.embedded.server import Server

__all__ = ["Server", "find_binaries"]
