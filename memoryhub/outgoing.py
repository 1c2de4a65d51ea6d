"""Requests that the hub sends elsewhere: which addresses they may go to, and one POST within strict bounds.

A name is looked up once; every address that it has must be allowed, and the connection is made to one of these, so
that a name which answers differently the next time (rebinding) leads nowhere else. No redirect is followed. Nothing of
what the receiver says is kept but the status and `Retry-After`.
"""

import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

Resolver = Callable[[str, int], Sequence[str]]
"""Host and port -> the IP addresses that it has; raises OSError."""

LONGEST_URL = 2_000
HIGH_PORTS = 1024
"""Below it there is only the scheme's own port: the others belong to other protocols."""

USER_AGENT = "MemoryHub-Webhooks/1"

_FORBIDDEN = [
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
        "::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32",
        "2002::/16", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
    )
]  # fmt: skip
"""What leads to this network, to several at once, to nobody, or (NAT64, 6to4, Teredo, IPv4-mapped) somewhere else than
it says; the private ones are known to `ipaddress`."""

_HOST = re.compile(r"[a-z0-9_][a-z0-9_-]{0,62}(?:\.[a-z0-9_-]{1,63})*\.?", re.ASCII)
_HEAD_BYTES, _BODY_BYTES, _PART = 16_384, 65_536, 4_096


class Refused(ValueError):
    """An address that no request goes to; `code` says why, as PROBLEMS name it."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


PROBLEMS = (
    "malformed", "scheme", "credentials", "port", "fragment", "unresolved", "private", "unreachable", "timeout",
    "closed", "tls", "no_http", "redirect", "status",
)  # fmt: skip
"""Why nothing was sent (up to `private`), why no answer came (up to `no_http`), or what was wrong with it."""


@dataclass(frozen=True, slots=True)
class Target:
    """A URL that may be asked: `addresses` are those that its name had when it was checked, empty where not yet."""

    scheme: str
    host: str
    port: int
    path: str
    addresses: tuple[str, ...] = ()

    @property
    def netloc(self) -> str:
        """As the Host header has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds for looking up the name, for the connection with its handshake, and for all of it to the answer."""

    resolve: float = 5
    connect: float = 5
    whole: float = 15


@dataclass(frozen=True, slots=True)
class Answer:
    """The status that came (null: none did), one of PROBLEMS or "", `Retry-After` as it stands, and microseconds."""

    status: int | None = None
    problem: str = ""
    retry_after: str = ""
    duration: int = 0

    @property
    def is_delivered(self) -> bool:
        return not self.problem


DEFAULT_PORTS = {"https": 443, "http": 80}
LIMITS = Limits()


# ------------------------------------------------------------------------------------------------ addresses


def is_public(address: str) -> bool:
    """Whether an IP address is one of the open internet's; no unmapped, translated or tunnelled one is."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if getattr(parsed, "scope_id", None) or not parsed.is_global or parsed.is_multicast or parsed.is_reserved:
        return False
    return not any(parsed in network for network in _FORBIDDEN if network.version == parsed.version)


def parse(url: str, *, private: bool = False) -> Target:
    """A URL taken apart; raises Refused. `private`: also plain http and any port, as addresses of one's own need."""
    if not 0 < len(url) <= LONGEST_URL or re.search(r"[\s\\\x00-\x20\x7f-\U0010ffff]", _host_free(url)):
        raise Refused("malformed")
    try:
        parts = urlsplit(url)
        host, port = _plain_host(parts.hostname or ""), parts.port
    except (ValueError, UnicodeError):
        raise Refused("malformed") from None
    if parts.scheme not in (("https", "http") if private else ("https",)):
        raise Refused("scheme")
    if parts.username is not None or parts.password is not None:
        raise Refused("credentials")
    if parts.fragment or url.endswith("#"):
        raise Refused("fragment")
    port = DEFAULT_PORTS[parts.scheme] if port is None else port
    if port == 0 or (not private and port < HIGH_PORTS and port != DEFAULT_PORTS[parts.scheme]):
        raise Refused("port")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, host, port, path)


def check(url: str, *, private: bool = False, resolve: Resolver | None = None, seconds: float = 5) -> Target:
    """A URL with the addresses that may be connected to; raises Refused. Looks the name up once."""
    target = parse(url, private=private)
    try:
        found = _within(seconds, resolve or addresses_of, target.host, target.port)
    except (OSError, UnicodeError):
        found = ()
    if not found:
        raise Refused("unresolved")
    if not private and not all(map(is_public, found)):
        raise Refused("private")
    return Target(target.scheme, target.host, target.port, target.path, tuple(dict.fromkeys(found)))


def addresses_of(host: str, port: int) -> list[str]:
    """What the system's resolver says."""
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _host_free(url: str) -> str:
    """The URL without the letters of a host in another script, which become ASCII."""
    return re.sub(r"(?<=://)[^/?#@]*", lambda host: re.sub(r"[^\W\x00-\x7f]", "x", host[0]), url, count=1)


def _plain_host(host: str) -> str:
    """In ASCII, folded; an IPv6 address without its brackets."""
    if ":" in host and "%" not in host:
        return str(ipaddress.IPv6Address(host))
    plain = host if host.isascii() else host.encode("idna").decode()
    if len(plain) > 253 or not _HOST.fullmatch(plain):
        raise ValueError(host)
    return plain


def _within(seconds: float, resolve: Resolver, host: str, port: int) -> Sequence[str]:
    """The system's resolver knows no limit of time: it is left to itself when it takes too long."""
    found: list[Sequence[str]] = []
    failed: list[Exception] = []

    def look() -> None:
        try:
            found.append(resolve(host, port))
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=look, name="resolver", daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise OSError(str(failed[0]))
    return found[0] if found else ()


# ------------------------------------------------------------------------------------------------ sending


class _NoHTTP(Exception):
    """What came is no answer of HTTP."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends; tests give it a resolver and trust of their own."""

    resolve: Resolver | None = None
    limits: Limits = LIMITS
    tls: ssl.SSLContext = field(default_factory=ssl.create_default_context)

    def post(self, url: str, body: bytes, headers: Mapping[str, str], *, private: bool = False) -> Answer:
        """One POST; never raises for what the other side does or does not do."""
        begun = time.monotonic()
        try:
            status, retry_after = self._exchange(url, body, headers, private, begun + self.limits.whole)
            problem = _problem_with(status)
        except (Refused, OSError, _NoHTTP) as error:
            status, problem, retry_after = None, _problem_of(error), ""
        return Answer(status, problem, retry_after, int((time.monotonic() - begun) * 1_000_000))

    def _exchange(
        self, url: str, body: bytes, headers: Mapping[str, str], private: bool, end: float
    ) -> tuple[int, str]:
        """The status and `Retry-After` that came."""
        target = check(url, private=private, resolve=self.resolve, seconds=self.limits.resolve)
        with self._connected(target, end) as connection:
            connection.sendall(_request(target, body, headers))
            answer = _head(connection, end)
            _drain(connection, min(end, time.monotonic() + 1))
        return answer

    def _connected(self, target: Target, end: float) -> socket.socket:
        """A connection to one of the checked addresses: the name is not asked again."""
        plain = _first_that_answers(target, self.limits.connect, end)
        if target.scheme == "http":
            return plain
        try:
            plain.settimeout(_left(end, self.limits.connect))
            return self.tls.wrap_socket(plain, server_hostname=target.host)
        except BaseException:
            plain.close()
            raise


def _first_that_answers(target: Target, seconds: float, end: float) -> socket.socket:
    last: OSError = OSError("no address")
    for address in target.addresses[:4]:
        try:
            return socket.create_connection((address, target.port), _left(end, seconds))
        except OSError as error:
            last = error
    raise last


def _left(end: float, most: float = float("inf")) -> float:
    """Seconds that are left; raises TimeoutError where none are."""
    left = min(end - time.monotonic(), most)
    if left <= 0:
        raise TimeoutError
    return left


def _request(target: Target, body: bytes, headers: Mapping[str, str]) -> bytes:
    own = {
        "Host": target.netloc,
        "User-Agent": USER_AGENT,
        "Accept": "*/*",
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    lines = [f"POST {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in (own | dict(headers)).items())]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


def _head(connection: socket.socket, end: float) -> tuple[int, str]:
    """The status and `Retry-After` of the answer that follows any interim ones (1xx)."""
    received = b""
    while True:
        while (blank := re.search(rb"\r?\n\r?\n", received)) is None:
            if len(received) > _HEAD_BYTES:
                raise _NoHTTP
            connection.settimeout(_left(end))
            part = connection.recv(_PART)
            if not part:
                raise ConnectionResetError if not received else _NoHTTP
            received += part
        head, received = received[: blank.start()], received[blank.end() :]
        status = re.match(rb"HTTP/1\.[01] ([1-5]\d\d)(?: |\r?\n|$)", head)
        if status is None:
            raise _NoHTTP
        if int(status[1]) >= 200:
            return int(status[1]), _retry_after(head)


def _retry_after(head: bytes) -> str:
    found = re.search(rb"\r?\nretry-after:[ \t]*([ -~]{1,64}?)[ \t]*(?:\r?\n|$)", head, re.IGNORECASE)
    return found[1].decode("ascii") if found else ""


def _drain(connection: socket.socket, end: float) -> None:
    """Lets the receiver finish a short answer; what it says is thrown away."""
    read = 0
    try:
        while read < _BODY_BYTES:
            connection.settimeout(_left(end))
            part = connection.recv(_PART)
            if not part:
                return
            read += len(part)
    except (OSError, TimeoutError):
        return


def _problem_of(error: Exception) -> str:
    """Why no answer came; the first that an error is, from the most special."""
    if isinstance(error, Refused):
        return error.code
    kinds: tuple[tuple[type[Exception], str], ...] = (
        (ssl.SSLError, "tls"),
        (TimeoutError, "timeout"),
        (_NoHTTP, "no_http"),
        (ConnectionRefusedError, "unreachable"),
        (ConnectionError, "closed"),
    )
    return next((problem for kind, problem in kinds if isinstance(error, kind)), "unreachable")


def _problem_with(status: int) -> str:
    if 200 <= status < 300:
        return ""
    return "redirect" if 300 <= status < 400 else "status"
