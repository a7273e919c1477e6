"""Limit the connections of the server, in all and per address, with a reserve for health checks."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Protocol

# How many connections beyond the limits are kept for health checks; one more drops the oldest of them.
RESERVE = 64


class Closable(Protocol):
    """A connection that can be dropped."""

    def drop(self) -> None:
        """Close the connection at once."""


@dataclass(slots=True)
class ConnectionLimits:
    """Count the connections of one server; `most_of_one` address does not apply to the `exempt` trusted proxies.

    A new connection takes the place of another if there is no room: of the oldest without a whole request, else of the
    one that has been idle for longest. A connection whose request is being answered keeps its place.
    """

    most: int = 1000
    most_of_one: int = 250
    exempt: Collection[str] = ()
    _per_network: Counter[str] = field(default_factory=Counter)
    _served: dict[Closable, str] = field(default_factory=dict)
    # In the order in which they came or became idle. After many removals an `OrderedDict` still finds its first item at
    # once, a dict does not.
    _without_request: OrderedDict[Closable, None] = field(default_factory=OrderedDict)
    _idle: OrderedDict[Closable, None] = field(default_factory=OrderedDict)
    _spare: OrderedDict[Closable, None] = field(default_factory=OrderedDict)

    def admit(self, connection: Closable, address: str) -> bool:
        """Count a new connection; return False if it may only ask for the health of the service."""
        network = _network(address)
        if self._per_network[network] >= self.most_of_one and not self._is_exempt(address):
            return self._keep_spare(connection)
        if len(self._served) >= self.most:
            droppable = self._without_request or self._idle
            if not droppable:
                return self._keep_spare(connection)
            oldest = next(iter(droppable))
            self.remove(oldest)
            oldest.drop()
        self._served[connection] = network
        self._per_network[network] += 1
        self._without_request[connection] = None
        return True

    def remove(self, connection: Closable) -> None:
        """Remove a closed connection from the counts."""
        self.set_busy(connection)
        self._spare.pop(connection, None)
        network = self._served.pop(connection, None)
        if network is not None:
            self._per_network[network] -= 1
            if not self._per_network[network]:
                del self._per_network[network]

    def set_busy(self, connection: Closable) -> None:
        """Mark a connection as one that has sent a whole request, which is being answered."""
        self._without_request.pop(connection, None)
        self._idle.pop(connection, None)

    def set_idle(self, connection: Closable) -> None:
        """Mark a connection as one whose requests are all answered."""
        if connection in self._served:
            self._idle[connection] = None

    def _keep_spare(self, connection: Closable) -> bool:
        """Keep a connection beyond the limits, for a health check; drop the oldest such one if there is no room."""
        if len(self._spare) >= RESERVE:
            oldest = next(iter(self._spare))
            del self._spare[oldest]
            oldest.drop()
        self._spare[connection] = None
        return False

    def _is_exempt(self, address: str) -> bool:
        if not self.exempt:
            return False
        if "*" in self.exempt or address in self.exempt:
            return True
        try:
            return any(
                ip_address(address) in ip_network(each, strict=False) for each in self.exempt if "/" in each
            )
        except ValueError:
            return False


def _network(address: str) -> str:
    """Return what counts as one address: an IPv4 address, or an IPv6 network of 64 bits, as one machine may have."""
    if ":" not in address:
        return address
    try:
        found = IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    return str(found.ipv4_mapped or IPv6Address(int(found) >> 64 << 64))
