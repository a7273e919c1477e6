"""The settings of the service as one frozen value: defaults, then the environment, then arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from ipaddress import ip_address
from typing import Any

from kairos.errors import ConfigError

_LOOPBACK_NAMES = frozenset({"localhost", "localhost.localdomain"})
_WHOLE = {"port", "body_limit", "burst", "limit_concurrency", "streams", "streams_per_caller"}
_DECIMAL = {"rate", "receive_timeout"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """`open` lets everybody in, as the caller "local", for as long as the database has no keys.

    `allowed_hosts` are the names the service answers to; without any, it answers to all where keys are
    required, and only to the names of this machine where access is open. `rate` are requests a second for
    each caller, `burst` how many may come at once. `limit_concurrency` is how many connections are served,
    `streams` how many of them may follow events, `streams_per_caller` how many of one caller; a client may take
    `receive_timeout` seconds to send its headers, and then its body. Connections from `trusted_proxies` tell by
    X-Forwarded-For and X-Forwarded-Proto whom they stand for.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    open: bool = False
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ("127.0.0.1", "::1")
    body_limit: int = 1 << 20
    rate: float = 500.0
    burst: int = 1000
    limit_concurrency: int = 1000
    receive_timeout: float = 20.0
    streams: int = 500
    streams_per_caller: int = 50
    session_idle: timedelta = timedelta(hours=12)
    session_age: timedelta = timedelta(days=7)

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ConfigError(f"port is {self.port}; it is a number from 0 to 65535.")
        for name in _WHOLE - {"port"} | _DECIMAL:
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be more than nothing.")

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.host)


def load_service(arguments: Mapping[str, Any] | None = None) -> ServiceSettings:
    """Read the settings from the environment and from arguments; arguments that are None do not count."""
    found: dict[str, Any] = {
        name: os.environ[key] for name in _FROM_ENVIRONMENT if (key := f"KAIROS_{name.upper()}") in os.environ
    }
    found.update({name: value for name, value in (arguments or {}).items() if value is not None})
    if unknown := set(found) - _NAMES:
        raise ConfigError(f"The service has no setting {min(unknown)!r}; known: {', '.join(sorted(_NAMES))}.")
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
# Who may come in is said where the service is started, not by whatever the environment happens to hold.
_FROM_ENVIRONMENT = _NAMES - {"open", "session_idle", "session_age"}
