"""Tell public IP addresses from private, reserved and cloud-metadata ones."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Cloud metadata services, which hand out credentials. Some have addresses that look public.
METADATA = frozenset(
    ip_address(text)
    for text in ("169.254.169.254", "169.254.170.2", "168.63.129.16", "100.100.100.200", "fd00:ec2::254")
)
_NOT_PUBLIC_4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared by the customers of a provider
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and the broadcast
    )
)
# Of IPv6, only what is handed out is public; these are the exceptions within it.
_HANDED_OUT_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # Teredo, benchmarks, ORCHID: each leads elsewhere
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: an IPv4 address in disguise
        "3fff::/20",  # documentation
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")


def plain(address: Address) -> Address:
    """Return the effective address: an IPv4 address embedded in an IPv6 one is unwrapped."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def is_public(address: Address) -> bool:
    """Whether an address, as `plain` returns it, is public and no metadata service."""
    if address in METADATA:
        return False
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    return address in _HANDED_OUT_6 and not any(address in network for network in _NOT_PUBLIC_6)


def network_of(text: str) -> Network | None:
    """Parse a network such as `10.1.0.0/16` or an address such as `::1`; None if it is neither."""
    try:
        return ip_network(text)
    except ValueError:
        return None


def is_listed(address: Address, networks: tuple[Network, ...]) -> bool:
    """Whether a listed network contains the address; a metadata address must be listed by itself."""
    return any(
        address in network and (address not in METADATA or network.num_addresses == 1) for network in networks
    )
