"""The settings of the service as one frozen value: defaults, then the environment, then arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from ipaddress import ip_address
from typing import Any

from kairos.errors import ConfigError
from kairos.suggest import did_you_mean

_LOOPBACK_NAMES = frozenset({"localhost", "localhost.localdomain"})
_WHOLE = {
    "port",
    "body_limit",
    "page_bytes",
    "queue_names",
    "burst",
    "limit_concurrency",
    "connections_per_address",
    "streams",
    "streams_per_caller",
}
_DECIMAL = {"rate", "receive_timeout", "idle_timeout", "replica_lag"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """The settings of the HTTP service.

    - `open`: without a key, every caller is the admin "local", as long as the database has never had a key.
    - `allowed_hosts`: the Host headers that are accepted. Empty: any if keys are required, else only loopback names.
    - `trusted_proxies`: addresses whose X-Forwarded-For and X-Forwarded-Proto are believed; none by default.
    - `rate`, `burst`: requests a second for each caller, and how many may come at once.
    - `limit_concurrency`, `connections_per_address`: connections in all, and from one IPv4 address or IPv6 network of
      64 bits (trusted proxies exempt).
    - `streams`, `streams_per_caller`: event streams and requests that wait for a job, in all, and of one caller.
    - `receive_timeout`, `idle_timeout`: seconds to send the headers, and again the body; seconds between two requests.
    - `body_limit`, `page_bytes`: bytes of a request body, and of a page of a list, which then ends early.
    - `replica_url`: a read replica for lists, statistics and history; `replica_lag` is how many seconds old it may be.
    - `queue_names`: how many queues there may be before callers can create no more by naming them.
    - `session_idle`, `session_age`: how long a session lasts without a request, and in all.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    open: bool = False
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    body_limit: int = 1 << 20
    page_bytes: int = 4 << 20
    queue_names: int = 1000
    rate: float = 500.0
    burst: int = 1000
    limit_concurrency: int = 1000
    connections_per_address: int = 250
    receive_timeout: float = 20.0
    idle_timeout: float = 15.0
    streams: int = 500
    streams_per_caller: int = 50
    replica_url: str | None = None
    replica_lag: float = 10.0
    session_idle: timedelta = timedelta(hours=12)
    session_age: timedelta = timedelta(days=7)

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ConfigError(f"port is {self.port}; it is a number from 0 to 65535.")
        for name in _WHOLE - {"port"} | _DECIMAL:
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be positive.")

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.host)


def load_service(arguments: Mapping[str, Any] | None = None) -> ServiceSettings:
    """Read the settings from the environment and from arguments; arguments that are None are ignored."""
    found: dict[str, Any] = {
        name: value
        for name in _FROM_ENVIRONMENT
        if (value := os.environ.get(f"KAIROS_{name.upper()}")) is not None
        # Kubernetes sets KAIROS_PORT for a service called kairos.
        if not value.startswith(("tcp://", "udp://"))
    }
    found.update({name: value for name, value in (arguments or {}).items() if value is not None})
    if unknown := set(found) - _NAMES:
        raise ConfigError(f"The service has no setting {min(unknown)!r}.{did_you_mean(min(unknown), _NAMES)}")
    return ServiceSettings(**{name: _cast(name, value) for name, value in found.items()})


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() in _LOOPBACK_NAMES


def _cast(name: str, value: Any) -> Any:
    if name in _WHOLE | _DECIMAL:
        try:
            return float(value) if name in _DECIMAL else int(value)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{name} is {value!r}; it must be a number.") from error
    if name in ("allowed_hosts", "trusted_proxies"):
        given = value.split(",") if isinstance(value, str) else value
        return tuple(each.strip().lower() for each in given if each.strip())
    return value


_NAMES = frozenset(field.name for field in fields(ServiceSettings))
# Access without keys is chosen by the program that starts the service, never by an environment variable.
_FROM_ENVIRONMENT = _NAMES - {"open", "session_idle", "session_age"}
