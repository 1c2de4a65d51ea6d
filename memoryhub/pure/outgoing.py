"""Requests that the hub sends to other servers: which addresses are allowed, and one POST within strict bounds.

A host name is resolved once. All of its addresses must be allowed, and the connection is made to one of them. So a name
that resolves differently the next time (DNS rebinding) cannot lead elsewhere. No redirect is followed. Of the answer,
only the status, `Retry-After` and the beginning of a refusal are kept.
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
"""A function that returns the IP addresses of a host and port, and raises OSError if there are none."""

LONGEST_URL, SAID = 2_000, 200
HIGH_PORTS = 1024
"""Of the ports below this number, only the scheme's default port is allowed: the others belong to other protocols."""

USER_AGENT = "MemoryHub-Webhooks/1"

_FORBIDDEN = [
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
        "::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32",
        "2002::/16", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
    )
]  # fmt: skip
"""Networks that are local, multicast or unusable, or whose addresses stand for another one (NAT64, 6to4, Teredo,
IPv4-mapped).

`ipaddress` knows the private networks itself.
"""

_HOST = re.compile(r"[a-z0-9_][a-z0-9_-]{0,62}(?:\.[a-z0-9_-]{1,63})*\.?", re.ASCII)
_HEAD_BYTES, _BODY_BYTES, _PART = 16_384, 65_536, 4_096


class Refused(ValueError):
    """No request may be sent to this address; `code` is one of PROBLEMS."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


PROBLEMS = (
    "malformed", "scheme", "credentials", "port", "fragment", "unresolved", "private", "unreachable", "timeout",
    "closed", "tls", "no_http", "redirect", "status",
)  # fmt: skip
"""Why nothing was sent (up to `private`), why no answer came (up to `no_http`), or what was wrong with the answer."""


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of an allowed URL. `addresses` are the IP addresses that `check` found; they are empty before
    `check`."""

    scheme: str
    host: str
    port: int
    path: str
    addresses: tuple[str, ...] = ()

    @property
    def netloc(self) -> str:
        """Return the value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Limits:
    """Time limits in seconds: to resolve the name, to connect (with the TLS handshake), and for the whole request."""

    resolve: float = 5
    connect: float = 5
    whole: float = 15


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a request: the status (None: no answer), a code of PROBLEMS or "", and the value of `Retry-After`.

    The duration is in microseconds. `said` is the beginning of the answer of a receiver that refused: one line of at
    most SAID characters.
    """

    status: int | None = None
    problem: str = ""
    retry_after: str = ""
    duration: int = 0
    said: str = ""

    @property
    def is_delivered(self) -> bool:
        return not self.problem


DEFAULT_PORTS = {"https": 443, "http": 80}
LIMITS = Limits()


# ------------------------------------------------------------------------------------------------ addresses


def is_public(address: str) -> bool:
    """Return whether an IP address is on the public internet. An IPv4 address that is mapped, translated or tunnelled
    into IPv6 is not."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if getattr(parsed, "scope_id", None) or not parsed.is_global or parsed.is_multicast or parsed.is_reserved:
        return False
    return not any(parsed in network for network in _FORBIDDEN if network.version == parsed.version)


def parse(url: str, *, private: bool = False) -> Target:
    """Return the parts of a URL. Raises Refused if the URL is not allowed.

    `private` also allows plain http and any port, for addresses in one's own network.
    """
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
    """Resolve the name of a URL once. Return the URL's parts with the IP addresses to which to connect.

    Raises Refused if `parse` does, if the name has no address, or if an address is not public. With `private`,
    addresses need not be public.
    """
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
    """Return the IP addresses of a host, from the system's resolver."""
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _host_free(url: str) -> str:
    """Return the URL with each non-ASCII letter of its host replaced by x, so that the caller can check all other
    characters."""
    return re.sub(r"(?<=://)[^/?#@]*", lambda host: re.sub(r"[^\W\x00-\x7f]", "x", host[0]), url, count=1)


def _plain_host(host: str) -> str:
    """Return the host in ASCII and lower case, or an IPv6 address without its brackets.

    Raises ValueError if the host is neither a valid name nor a valid address.
    """
    if ":" in host and "%" not in host:
        return str(ipaddress.IPv6Address(host))
    # Python's codec would name another host for these letters: strasse.example for straße.example.
    if re.search("[ßẞς\u200c\u200d]", host):
        raise ValueError(host)
    plain = host if host.isascii() else host.encode("idna").decode()
    if len(plain) > 253 or not _HOST.fullmatch(plain):
        raise ValueError(host)
    return plain


def _within(seconds: float, resolve: Resolver, host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host; none if they are not found within `seconds` seconds.

    The system's resolver has no timeout, so it runs in a thread, which is abandoned when it takes too long.
    """
    found: list[Sequence[str]] = []
    failed: list[Exception] = []

    def look() -> None:
        try:
            found.append(resolve(host, port))
        except Exception as error:
            failed.append(error)

    # The system's resolver has no timeout, so the thread is abandoned when it takes too long.
    thread = threading.Thread(target=look, name="resolver", daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise OSError(str(failed[0]))
    return found[0] if found else ()


# ------------------------------------------------------------------------------------------------ sending


class _NoHTTP(Exception):
    """The receiver's answer is not HTTP."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends requests. Tests pass their own resolver and the TLS certificates to trust."""

    resolve: Resolver | None = None
    limits: Limits = LIMITS
    tls: ssl.SSLContext = field(default_factory=ssl.create_default_context)

    def post(self, url: str, body: bytes, headers: Mapping[str, str], *, private: bool = False) -> Answer:
        """Send one POST and return its outcome. Whatever the other side does, no exception is raised."""
        begun = time.monotonic()
        try:
            status, retry_after, said = self._exchange(url, body, headers, private, begun + self.limits.whole)
            problem = _problem_with(status)
        except (Refused, OSError, _NoHTTP) as error:
            status, problem, retry_after, said = None, _problem_of(error), "", ""
        duration = int((time.monotonic() - begun) * 1_000_000)
        return Answer(status, problem, retry_after, duration, said if problem == "status" else "")

    def _exchange(
        self, url: str, body: bytes, headers: Mapping[str, str], private: bool, end: float
    ) -> tuple[int, str, str]:
        """Send the request; return the status and `Retry-After` of the answer, and the beginning of its text."""
        target = check(url, private=private, resolve=self.resolve, seconds=self.limits.resolve)
        with self._connected(target, end) as connection:
            connection.sendall(_request(target, body, headers))
            status, head, body = _head(connection, end)
            body = _drain(connection, body, min(end, time.monotonic() + 1))
        return status, _retry_after(head), _text(head, body)

    def _connected(self, target: Target, end: float) -> socket.socket:
        """Return a connection to one of the checked addresses, without resolving the name again."""
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
    """Return the seconds until the time `end`, but at most `most`. Raises TimeoutError if no time is left."""
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


def _head(connection: socket.socket, end: float) -> tuple[int, bytes, bytes]:
    """Return the status and the head of the final answer, and the bytes received after this head.

    Interim answers (1xx) before it are skipped.
    """
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
            return int(status[1]), head, received


def _retry_after(head: bytes) -> str:
    found = re.search(rb"\r?\nretry-after:[ \t]*([ -~]{1,64}?)[ \t]*(?:\r?\n|$)", head, re.IGNORECASE)
    return found[1].decode("ascii") if found else ""


def _drain(connection: socket.socket, received: bytes, end: float) -> bytes:
    """Read up to about _BODY_BYTES of an answer's body, so that the server can finish sending it. Return the beginning
    of the body."""
    read = 0
    try:
        while read < _BODY_BYTES:
            connection.settimeout(_left(end))
            part = connection.recv(_PART)
            if not part:
                break
            read += len(part)
            received = (received + part)[:_PART]
    except (OSError, TimeoutError):
        pass
    return received


def _text(head: bytes, body: bytes) -> str:
    """Return the first SAID characters of a body, or of its first chunk, in one line without control characters."""
    if re.search(rb"\r?\ntransfer-encoding:[ \t]*chunked", head, re.IGNORECASE):
        size = re.match(rb"([0-9a-fA-F]{1,8})[^\r\n]*\r?\n", body)
        body = body[size.end() : size.end() + int(size[1], 16)] if size else b""
    words = "".join(letter if letter.isprintable() else " " for letter in body.decode("utf-8", "ignore"))
    return " ".join(words.split())[:SAID]


def _problem_of(error: Exception) -> str:
    """Return the code of PROBLEMS for an error."""
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
