"""Closes open connections of a server process that are idle, slow or too many.

granian owns the connections and never closes one because there are many. So a thread scans `/proc/self/fd`, asks the
kernel about each socket, and shuts connections down. To granian it looks as if the client closed them.

**Why this is safe.** A listed descriptor may be closed, and its number used again, before it is examined. So it is
duplicated first, and only the duplicate is used: its inode must equal the listed inode. `shutdown` ends the connection,
but granian closes its own descriptor. Only sockets of the server's own port are examined. A duplicate lives for
microseconds, so it does not keep a connection open.
"""

import contextlib
import ipaddress
import logging
import os
import resource
import socket
import struct
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from memoryhub.pure import proxies

logger = logging.getLogger(__name__)

LOOK_EVERY = 1.0
LOOK_EVERY_WHEN_FULL = 0.1
READ_WITHIN = 20.0
SLOWEST = 1000
"""A client must read at least SLOWEST bytes a second, averaged over each READ_WITHIN seconds in which data waits for
it."""
LONGEST_IDLE = 75.0
KEPT_FREE = 256
"""The descriptors that are reserved for everything else: the database, files, webhooks."""
MOST = 8192
FULL = 0.9

_RESET = struct.pack("ii", 1, 0)
"""An option of a socket: closing the connection then frees its buffers at once. Otherwise the kernel keeps unread data
for minutes."""

_UNACKED, _SILENT, _TAKEN, _UNSENT, _LENGTH = 24, 52, 120, 144, 148
"""Offsets in Linux's `struct tcp_info`: segments in flight, milliseconds since the client sent data, bytes that it
acknowledged, bytes that wait here; and the length needed."""


@dataclass(slots=True)
class Connection:
    """The known facts about one connection, from one scan to the next."""

    peer: str
    """The client as granian names it: `127.0.0.1:40000` or `[::1]:40000`."""
    group: str | None
    """The group of the address: an IPv4 address, or an IPv6 network of 64 bits. Connections of a group are counted
    together.

    A trusted proxy's connections have no group, because many clients are behind the proxy.
    """
    opened: float
    idle: float = 0.0
    """Seconds since the client last sent data."""
    waiting_since: float | None = None
    """Since when data waits for the client to read it; below zero if it reads too slowly."""
    taken_then: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections this process may have, and how many of them one address may have.

    `trusted` are the addresses and ranges of the trusted proxies, to which the second limit does not apply.
    """

    most: int
    by_address: int
    trusted: Sequence[str] = ()


@dataclass(slots=True)
class _Seen:
    """The result of one scan: whether the process still listens, and {inode: Connection}."""

    listens: bool
    connections: dict[str, Connection]


def room_for_connections() -> int:
    """Raise this process's limit of descriptors as far as the system allows. Return for how many connections it has
    room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or soft < hard:
        with contextlib.suppress(ValueError, OSError):
            wanted = 65_536 if hard == resource.RLIM_INFINITY else hard
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(64, min(MOST, (soft if soft > 0 else 65_536) - KEPT_FREE))


def group_of(address: str, trusted: Sequence[str]) -> str | None:
    """Return the group in which an address's connections are counted.

    None for a trusted proxy, whose connections are not counted.
    """
    if proxies.is_trusted(address, trusted):
        return None
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return str(ip.ipv4_mapped)
        return str(ipaddress.ip_network((ip, 64), strict=False))
    return str(ip)


class Guard:
    """Scans the connections in a thread of its own.

    `in_hand` are the peers whose request is being read, waits, or is being answered. `closing` is called once: when the
    listening socket is closed.
    """

    def __init__(self, port: int, limits: Limits, in_hand: Collection[str], closing: Callable[[], None]) -> None:
        self.port, self.limits = port, limits
        self._in_hand, self._closing = in_hand, closing
        self._known: dict[str, Connection | None] = {}
        self._listed: set[str] = set()
        self._listens = self._listened = self._closed = False

    def start(self) -> None:
        if sys.platform == "linux":
            threading.Thread(target=self._run, name="connections", daemon=True).start()

    def _run(self) -> None:
        pause = LOOK_EVERY
        while True:
            time.sleep(pause)
            begun = time.monotonic()
            try:
                crowded = self.look(begun)
            except Exception:
                logger.exception("The connections could not be scanned; trying again")
                crowded = False
            spent = time.monotonic() - begun
            pause = max(LOOK_EVERY_WHEN_FULL if crowded else min(LOOK_EVERY, 0.25 + spent * 20), spent * 4)

    def look(self, now: float) -> bool:
        """Close connections that are overdue or too many.

        Return whether the connections that are not overdue were more than the share FULL of those that are allowed.
        """
        seen = self._all(now)
        if self._listened and not seen.listens and not self._closed:
            self._closed = True
            self._closing()
        self._listened = self._listened or seen.listens
        gone = set(self._overdue(seen.connections, now))
        left = {inode: one for inode, one in seen.connections.items() if inode not in gone}
        self.cut(gone | set(self._too_many(left)))
        return len(left) > FULL * self.limits.most

    def cut(self, inodes: Collection[str]) -> None:
        """Shut down the connections with these inodes. If "*" is among them, shut down all."""
        if not inodes:
            return
        for inode, connection in self._sockets():
            if inode in inodes or "*" in inodes:
                with contextlib.suppress(OSError):
                    one = self._known.get(inode)
                    if one is not None and one.waiting_since is not None:
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    connection.shutdown(socket.SHUT_RDWR)

    # ------------------------------------------------------------------------------------------------------- judging

    def _overdue(self, connections: dict[str, Connection], now: float) -> Iterator[str]:
        for inode, one in connections.items():
            if one.waiting_since is None:
                if one.peer not in self._in_hand and min(one.idle, now - one.opened) > LONGEST_IDLE:
                    yield inode
            elif one.waiting_since < 0:
                yield inode

    def _too_many(self, connections: dict[str, Connection]) -> Iterator[str]:
        """Yield the inodes of the connections to close because there are too many.

        Those without an open request or an unread answer are chosen first, and among them those whose clients have been
        silent longest.
        """
        groups: defaultdict[str, list[str]] = defaultdict(list)
        for inode, one in connections.items():
            if one.group is not None:
                groups[one.group].append(inode)
        gone: set[str] = set()
        for inodes in groups.values():
            more = len(inodes) - self.limits.by_address
            if more > 0:
                gone |= set(self._dispensable(inodes, connections)[:more])
        left = [inode for inode in connections if inode not in gone]
        more = len(left) - int(FULL * self.limits.most)
        if more > 0:
            idle = sum(not self._is_busy(connections[inode]) for inode in left)
            more = max(more, min(idle, len(left) - self.limits.most // 2))  # clients connect faster than the scans
            gone |= set(self._dispensable(left, connections)[:more])
        yield from gone

    def _dispensable(self, inodes: Iterable[str], connections: dict[str, Connection]) -> list[str]:
        return sorted(inodes, key=lambda inode: (self._is_busy(connections[inode]), -connections[inode].idle))

    def _is_busy(self, one: Connection) -> bool:
        return one.peer in self._in_hand or one.waiting_since is not None

    # -------------------------------------------------------------------------------------------------------- looking

    def _all(self, now: float) -> _Seen:
        """Scan: return all connections to this process's port, and whether the process still listens there."""
        found: dict[str, Connection] = {}
        self._listens = False
        for inode, connection in self._sockets():
            one = self._known.get(inode)
            try:
                if one is None:
                    peer = connection.getpeername()
                    name = f"[{peer[0]}]:{peer[1]}" if ":" in peer[0] else f"{peer[0]}:{peer[1]}"
                    one = Connection(name, group_of(peer[0], self.limits.trusted), now)
                _measure(one, connection, now)
            except OSError:
                continue  # the connection has ended
            found[inode] = one
        others = {inode: None for inode, one in self._known.items() if one is None and inode in self._listed}
        self._known = {**others, **found}
        return _Seen(self._listens, found)

    def _sockets(self) -> Iterator[tuple[str, socket.socket]]:
        """Yield (inode, duplicate of the socket) for each connection. A duplicate is closed when the next one is
        requested."""
        self._listed = set()
        for name in Path("/proc/self/fd").iterdir():
            try:
                link = os.readlink(name)  # noqa: PTH115 - what it names is no path
            except OSError:
                continue
            if not link.startswith("socket:"):
                continue
            inode = link[8:-1]
            self._listed.add(inode)
            if inode in self._known and self._known[inode] is None:
                continue
            with contextlib.suppress(OSError), _duplicate(int(name.name), inode) as connection:
                if self._is_ours(inode, connection):
                    yield inode, connection

    def _is_ours(self, inode: str, connection: socket.socket) -> bool:
        if self._known.get(inode) is not None:
            return True
        ours = connection.family in (socket.AF_INET, socket.AF_INET6) and connection.type == socket.SOCK_STREAM
        ours = ours and connection.getsockname()[1] == self.port
        if ours and connection.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            self._listens = True
            return False
        if not ours:
            self._known[inode] = None
        return ours


@contextlib.contextmanager
def _duplicate(number: int, inode: str) -> Iterator[socket.socket]:
    duplicate = os.dup(number)
    try:
        if str(os.fstat(duplicate).st_ino) != inode:
            raise OSError("the descriptor was reused")
        connection = socket.socket(fileno=duplicate)
    except OSError:
        os.close(duplicate)
        raise
    with connection:
        yield connection


def _measure(one: Connection, connection: socket.socket, now: float) -> None:
    """Record how long the client has been silent, and since when it has not read all the data that it was sent.

    If the client read too little for too long, `waiting_since` becomes negative.
    """
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    if len(info) < _LENGTH:
        return  # an old kernel: without these figures no connection is closed
    unacked, silent, unsent = (struct.unpack_from("=I", info, at)[0] for at in (_UNACKED, _SILENT, _UNSENT))
    taken = struct.unpack_from("=Q", info, _TAKEN)[0]
    one.idle = silent / 1000
    if not unacked and not unsent:
        one.waiting_since = None
    elif one.waiting_since is None:
        one.waiting_since, one.taken_then = now, taken
    elif now - one.waiting_since >= READ_WITHIN:
        enough = taken - one.taken_then >= SLOWEST * (now - one.waiting_since)
        one.waiting_since, one.taken_then = (now if enough else -1.0), taken
