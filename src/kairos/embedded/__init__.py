"""The real Postgres that ships with Kairos: found, started, shared and stopped without set-up.

    with Server(Path(".kairos")) as server:
        connect(server.url())

`binaries` finds the programs, `account` decides who runs them (Postgres refuses root), `processes` tells
the living from the dead, `cluster` makes and runs one data directory, `server` shares it between processes,
`ephemeral` ends the servers of tests, `bystander` those that a killed process left behind.
"""

from kairos.embedded.binaries import find_binaries
from kairos.embedded.server import Server

__all__ = ["Server", "find_binaries"]
