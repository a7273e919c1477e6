"""The egress policy: which hosts, ports and addresses may be called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

from kairos.actions.ip_addresses import Address, Network, is_listed, is_public, network_of, plain
from kairos.errors import ConfigError, EgressRefused

# Ports below 1024 belong to mail, shells and printers, which a crafted HTTP request can talk to.
_WEB_PORTS = (80, 443)
_FIRST_FREE_PORT = 1024


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """`allow` lists what may be called; `*` is every public host.

    A pattern is a name (`api.example.com`), a name and all below it (`*.example.com`), an address or a
    network (`10.1.0.0/16`). A name opens public addresses only; a private address is called only where an
    address or a network in the list holds it, whatever name led there. `host:port` opens one more port.
    """

    allow: tuple[str, ...] = ("*",)
    redirects: int = 0
    max_bytes: int = 1 << 20
    _names: tuple[tuple[str, int | None], ...] = field(init=False, repr=False, compare=False)
    _networks: tuple[tuple[Network, int | None], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names: list[tuple[str, int | None]] = []
        networks: list[tuple[Network, int | None]] = []
        for pattern in self.allow:
            text, port = _split(pattern)
            if (network := network_of(text)) is not None:
                networks.append((network, port))
            else:
                names.append((_name(text, pattern), port))
        object.__setattr__(self, "_names", tuple(names))
        object.__setattr__(self, "_networks", tuple(networks))

    def check(self, host: str, port: int, addresses: Sequence[str]) -> list[str]:
        """Return the addresses to connect to; raises `EgressRefused` if any address of the host is not allowed."""
        if not addresses:
            raise EgressRefused(f"{host} has no address.", field="url")
        for text in addresses:
            self._check_address(host, port, text)
        return list(dict.fromkeys(addresses))

    def _check_address(self, host: str, port: int, text: str) -> None:
        address = plain(ip_address(text.partition("%")[0]))  # without the interface after %
        networks = [(network, opened) for network, opened in self._networks if is_listed(address, (network,))]
        if networks:
            self._check_port(host, port, [opened for _, opened in networks])
            return
        names = [opened for name, opened in self._names if _matches(name, host)]
        if not names:
            raise EgressRefused(
                f"{host} is not among the hosts that may be called ({', '.join(self.allow) or 'none'}).",
                field="url",
            )
        if not is_public(address):
            raise EgressRefused(_not_public(host, address), field="url")
        self._check_port(host, port, names)

    def _check_port(self, host: str, port: int, opened: Sequence[int | None]) -> None:
        if port in opened or (None in opened and (port in _WEB_PORTS or port >= _FIRST_FREE_PORT)):
            return
        raise EgressRefused(
            f"Port {port} of {host} may not be called: only 80, 443, those from 1024 and those the list names.",
            field="url",
        )


def _not_public(host: str, address: Address) -> str:
    at = str(address) if str(address) == host else f"{host} is at {address}, which"
    return f"{at} is no public address: only a list that names {address} itself opens it."


def _matches(pattern: str, host: str) -> bool:
    name = host.rstrip(".").lower()
    if pattern == "*":
        return True
    if pattern.startswith("*."):
        return name == pattern[2:] or name.endswith(pattern[1:])
    return name == pattern


def _split(pattern: str) -> tuple[str, int | None]:
    """`host:port`, `[::1]:port`, or a host alone."""
    if not isinstance(pattern, str):
        raise ConfigError(f"{pattern!r} is no host: write a name, an address or a network.")
    text = pattern.strip()
    if network_of(text) is not None:
        return text, None
    host, colon, port = text.rpartition(":")
    if not colon:
        return text, None
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ConfigError(f"{pattern!r} names no port from 1 to 65535.")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _name(text: str, pattern: str) -> str:
    name = text.rstrip(".").lower()
    labels = (name.removeprefix("*.") if name != "*" else "any").split(".")
    if not all(
        part and part.isascii() and part.replace("-", "").replace("_", "").isalnum() for part in labels
    ):
        raise ConfigError(
            f"{pattern!r} is no host: write example.com, *.example.com, an address or a network such as 10.1.0.0/16."
        )
    return name
