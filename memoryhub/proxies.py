"""The trusted proxies in front of the hub, and the client's address that they report."""

import ipaddress
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@lru_cache(maxsize=16)
def _networks(trusted: tuple[str, ...]) -> tuple[Network, ...]:
    """Return the networks of the valid addresses and ranges. A system check reports invalid ones."""
    found = []
    for text in trusted:
        try:
            found.append(ipaddress.ip_network(text))
        except ValueError:
            continue
    return tuple(found)


def is_trusted(address: str, trusted: Iterable[str]) -> bool:
    """Return whether an address is listed as a trusted proxy, or is in a listed range."""
    networks = _networks(tuple(trusted))
    if not networks:
        return False
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if parsed.version == 6 and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return any(parsed in network for network in networks)


def client_of(meta: Mapping[str, Any], trusted: Iterable[str]) -> str:
    """Return the client's address, as the outermost trusted proxy reports it. Without such a proxy, it is the
    connection's address."""
    forwarded = str(meta.get("HTTP_X_FORWARDED_FOR") or "").split(",")
    way = [part.strip() for part in forwarded if part.strip()]
    return nearest_stranger(str(meta.get("REMOTE_ADDR") or ""), way, trusted)


def nearest_stranger(address: str, forwarded: list[str], trusted: Iterable[str]) -> str:
    """Return the last address on the way that is not a trusted proxy; the first address if all are. The client may have
    forged everything before that address."""
    proxies = tuple(trusted)
    way = [*forwarded, address]
    while len(way) > 1 and is_trusted(way[-1], proxies):
        way.pop()
    return way[-1][:64]
