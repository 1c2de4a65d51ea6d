"""The open connections of a server process: which are closed because they are idle, slow or too many.

granian accepts and owns the connections, outside Python, and closes none because there are too many. But they are file
descriptors of this process, and the kernel knows more about each than any server: what came, what the other side has
acknowledged, what waits. So a thread looks through `/proc/self/fd` and shuts down those that must go, which granian
then sees as closed by the client.

**Why this is safe.** A descriptor that was listed may be closed and its number be used again before it is looked at.
So it is duplicated first, and everything after that goes by the duplicate: the kernel's number of the socket (its
inode) is compared with the one that was listed, and a duplicate stays the same socket whatever happens to the
original. `shutdown` says goodbye on the connection and frees nothing that granian holds: it closes its descriptor
itself. Only sockets whose own port is the one that this process listens at are looked at, and no connection that the
hub made itself (to PostgreSQL, to a webhook) has that port. A duplicate lives for microseconds, so that a connection
that granian closes meanwhile is not kept open.
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

from memoryhub import proxies

logger = logging.getLogger(__name__)

LOOK_EVERY = 1.0
LOOK_EVERY_WHEN_FULL = 0.1
READ_WITHIN = 20.0
SLOWEST = 1000
"""Who reads an answer takes SLOWEST bytes a second, over each READ_WITHIN seconds in which something waits."""
LONGEST_IDLE = 75.0
KEPT_FREE = 256
"""Descriptors that stay for everything that is no connection: the database, files, webhooks."""
MOST = 8192
FULL = 0.9

_RESET = struct.pack("ii", 1, 0)
"""A connection that is closed with this option frees its memory; else the kernel keeps for minutes what nobody took."""

_UNACKED, _SILENT, _TAKEN, _UNSENT, _LENGTH = 24, 52, 120, 144, 148
"""Where Linux keeps in its `struct tcp_info`: segments on their way, milliseconds since the client sent data, bytes
that it acknowledged, and bytes that wait here."""


@dataclass(slots=True)
class Connection:
    """What is known of one connection from one look to the next."""

    peer: str
    """As granian names it: `127.0.0.1:40000` or `[::1]:40000`."""
    group: str | None
    """Connections of one group are counted together: an IPv4 address, or an IPv6 network of 64 bits. A trusted proxy's
    are in none: behind it are many clients."""
    opened: float
    idle: float = 0.0
    """Seconds since the client last sent something."""
    waiting_since: float | None = None
    """Since when something waits for the client to take it."""
    taken_then: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections there may be in this process, and from one address; `trusted` are the proxies in front."""

    most: int
    by_address: int
    trusted: Sequence[str] = ()


@dataclass(slots=True)
class _Seen:
    """What one look found."""

    listens: bool
    connections: dict[str, Connection]


def room_for_connections() -> int:
    """Raises this process's limit of descriptors as far as it may; says how many connections fit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or soft < hard:
        with contextlib.suppress(ValueError, OSError):
            wanted = 65_536 if hard == resource.RLIM_INFINITY else hard
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(64, min(MOST, (soft if soft > 0 else 65_536) - KEPT_FREE))


def group_of(address: str, trusted: Sequence[str]) -> str | None:
    """Which connections are counted with this one's; None for those of a trusted proxy."""
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
    """Looks through the connections in a thread of its own.

    `in_hand` holds the peers whose request is being read, answered or waits; `closing` is called once, when the
    listening socket has gone: granian has been asked to stop.
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
                logger.exception("The connections could not be looked through; trying again")
                crowded = False
            spent = time.monotonic() - begun
            pause = max(LOOK_EVERY_WHEN_FULL if crowded else min(LOOK_EVERY, 0.25 + spent * 20), spent * 4)

    def look(self, now: float) -> bool:
        """Closes what must go; says whether there are nearly as many connections as there may be."""
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
        """Shuts connections down; with "*" among them, all."""
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
        """Idle ones first, and of these those that have been idle for longest; then those whose client is silent."""
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
            more = max(more, min(idle, len(left) - self.limits.most // 2))  # a crowd comes faster than one looks
            gone |= set(self._dispensable(left, connections)[:more])
        yield from gone

    def _dispensable(self, inodes: Iterable[str], connections: dict[str, Connection]) -> list[str]:
        return sorted(inodes, key=lambda inode: (self._is_busy(connections[inode]), -connections[inode].idle))

    def _is_busy(self, one: Connection) -> bool:
        return one.peer in self._in_hand or one.waiting_since is not None

    # -------------------------------------------------------------------------------------------------------- looking

    def _all(self, now: float) -> _Seen:
        """Every connection to this process's port by the inode of its socket, and whether it still listens there."""
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
                continue  # it has ended
            found[inode] = one
        others = {inode: None for inode, one in self._known.items() if one is None and inode in self._listed}
        self._known = {**others, **found}
        return _Seen(self._listens, found)

    def _sockets(self) -> Iterator[tuple[str, socket.socket]]:
        """A duplicate of each connection's socket, closed when the next one is asked for."""
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
            raise OSError("the number is another's by now")
        connection = socket.socket(fileno=duplicate)
    except OSError:
        os.close(duplicate)
        raise
    with connection:
        yield connection


def _measure(one: Connection, connection: socket.socket, now: float) -> None:
    """Notes how long the client has been silent, and whether it takes what waits for it; a `waiting_since` below zero
    says that it took too little for too long."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    if len(info) < _LENGTH:
        return  # an old kernel: without these figures nothing is judged
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
