"""Bind the service's socket, before anything else is started."""

from __future__ import annotations

import errno
import socket

from kairos.errors import ConfigError

_BACKLOG = 2048


def listen(host: str, port: int, *, tries: int = 1) -> socket.socket:
    """Return a socket that listens at the first free of `tries` ports from `port` on; raise if all are taken."""
    for number in range(port, port + tries):
        try:
            return _bind(host, number)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and number + 1 < port + tries:
                continue
            raise ConfigError(
                f"Port {number} on {host} cannot be used: {error.strerror or error}; choose another with --port."
            ) from error
    raise AssertionError("unreachable")


def address(host: str, port: int) -> str:
    """Return the URL of a service at this host and port."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 (printed, not bound)
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def _bind(host: str, port: int) -> socket.socket:
    name = host.strip("[]")
    family, kind, protocol, _, place = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)[0]
    listening = socket.socket(family, kind, protocol)
    try:
        # The port can be bound again while connections of an earlier process are in TIME_WAIT.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    listening.setblocking(False)
    return listening
