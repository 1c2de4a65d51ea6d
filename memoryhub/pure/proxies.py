"""The trusted proxies in front of the hub, and the client's address that they report."""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import takewhile
from typing import Any

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@lru_cache(maxsize=16)
def _networks(trusted: tuple[str, ...]) -> tuple[Network, ...]:
    """Return the networks of those addresses and ranges that are valid. A system check reports the invalid ones."""
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
    """Return the client's address, as the outermost trusted proxy reports it. Without such a proxy, return the
    connection's address."""
    return nearest_stranger(str(meta.get("REMOTE_ADDR") or ""), _way(meta), trusted)


def protocol_of(meta: Mapping[str, Any], trusted: Iterable[str]) -> str:
    """Return the protocol of the client's request, as the outermost trusted proxy reports it: `https`, `http` or "".

    Earlier values in X-Forwarded-Proto are ignored, because the client may have forged them.
    """
    proxies, told = tuple(trusted), _parts(meta, "HTTP_X_FORWARDED_PROTO")
    way = [*_way(meta), str(meta.get("REMOTE_ADDR") or "")]
    trusted_ones = len(list(takewhile(lambda address: is_trusted(address, proxies), reversed(way[1:]))))
    return told[-min(len(told), max(1, trusted_ones))].lower() if told else ""


def _way(meta: Mapping[str, Any]) -> list[str]:
    """Return the addresses in X-Forwarded-For. Ports, which some proxies write after the addresses, are left out."""
    return [_PORT.sub(r"\1\2", part) for part in _parts(meta, "HTTP_X_FORWARDED_FOR")]


_PORT = re.compile(r"^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$")


def _parts(meta: Mapping[str, Any], name: str) -> list[str]:
    return [part.strip() for part in str(meta.get(name) or "").split(",") if part.strip()]


def nearest_stranger(address: str, forwarded: list[str], trusted: Iterable[str]) -> str:
    """Return the last address in [*forwarded, address] that is not a trusted proxy. If all addresses are trusted,
    return the first one.

    The client may have forged all addresses before the returned one.
    """
    proxies = tuple(trusted)
    way = [*forwarded, address]
    while len(way) > 1 and is_trusted(way[-1], proxies):
        way.pop()
    return way[-1][:64]
