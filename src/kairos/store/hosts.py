"""The hosts of a database URL, tried one at a time; the host that answered last is tried first."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

_PORT = "5432"


class Hosts:
    """The hosts of one URL, in the order in which to try them.

    The drivers themselves always try in the order of the URL: after a failover whose old primary hangs, each new
    connection would first wait for that one.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._candidates = _candidates(url)

    def candidates(self) -> list[dict[str, Any]]:
        """Return the arguments of a driver for each attempt, besides the URL."""
        return list(self._candidates)

    def prefer(self, host: dict[str, Any]) -> None:
        """Move the host that answered to the front."""
        if self._candidates[0] != host:
            self._candidates.sort(key=lambda each: each != host)

    def demote(self, host: dict[str, Any]) -> None:
        """Move a host that no longer answers to the end."""
        self._candidates.sort(key=lambda each: each == host)


def _candidates(url: str) -> list[dict[str, Any]]:
    """Return the arguments for each host; a single empty entry if the URL names at most one host or is malformed."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return [{}]
    hosts = str(parts.get("host") or "").split(",")
    if len(hosts) == 1:
        return [{}]
    ports = str(parts.get("port") or _PORT).split(",")
    if len(ports) == 1:
        ports *= len(hosts)
    if len(ports) != len(hosts):
        return [{}]
    # Without this a standby that is listed first would be used as the primary.
    wanted = parts.get("target_session_attrs") or "primary"
    return [
        {"host": host, "port": int(port or _PORT), "target_session_attrs": wanted}
        for host, port in zip(hosts, ports, strict=True)
    ]
