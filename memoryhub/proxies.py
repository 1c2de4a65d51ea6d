"""The proxies in front that are trusted: single addresses and ranges, and what is believed from them."""

import ipaddress
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@lru_cache(maxsize=16)
def _networks(trusted: tuple[str, ...]) -> tuple[Network, ...]:
    """Those that are written right; a system check points out the others."""
    found = []
    for text in trusted:
        try:
            found.append(ipaddress.ip_network(text))
        except ValueError:
            continue
    return tuple(found)


def is_trusted(address: str, trusted: Iterable[str]) -> bool:
    """Whether an address is one of the proxies', or in one of their ranges."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if parsed.version == 6 and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return any(parsed in network for network in _networks(tuple(trusted)))


def client_of(meta: Mapping[str, Any], trusted: Iterable[str]) -> str:
    """Who sent a request: what the nearest proxy that is not trusted says, or the connection itself."""
    forwarded = str(meta.get("HTTP_X_FORWARDED_FOR") or "").split(",")
    way = [part.strip() for part in forwarded if part.strip()]
    return nearest_stranger(str(meta.get("REMOTE_ADDR") or ""), way, trusted)


def nearest_stranger(address: str, forwarded: list[str], trusted: Iterable[str]) -> str:
    """The last address of the way here that is no trusted proxy; what stands before it anybody may have written."""
    proxies = tuple(trusted)
    way = [*forwarded, address]
    while len(way) > 1 and is_trusted(way[-1], proxies):
        way.pop()
    return way[-1][:64]
