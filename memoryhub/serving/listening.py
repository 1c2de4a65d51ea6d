"""Reserves the server's port for one hub.

granian's workers share their port (`SO_REUSEPORT`). Without the reservation, the workers of another hub of the same
user could share it too, and receive some of the requests and the passwords in them.
"""

import errno
import socket
import sys

from django.core.management.base import CommandError


def address_of(host: str, port: int) -> str:
    """Return an IP address of a host, preferably an IPv4 address. It is needed because granian resolves no names.

    Raises CommandError if the port is not valid, or if the host has no usable address.
    """
    if not 1 <= port <= 65535:
        raise CommandError(f"{port} is not a port. Name one from 1 to 65535 with --port.")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise CommandError(f"This machine has no address {host}:{port}: name one that it has.") from None
    address = str(min(found, key=lambda one: one[0] != socket.AF_INET)[4][0])
    if "%" in address:
        raise CommandError(f"{address} belongs to a single network card. Name another address with --host.")
    return address


def url_of(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def reserve(host: str, port: int) -> socket.socket:
    """Make sure that no other program serves the port. Raises CommandError if one does, or if the port cannot be used.

    On Linux, the returned socket holds a name in the kernel's abstract namespace, which reserves the port. The workers
    inherit the socket. So the reservation ends when this process and its workers have closed it or have ended. On other
    systems, the port is only checked, and the socket reserves nothing.
    """
    name = socket.socket(socket.AF_UNIX if sys.platform == "linux" else socket.AF_INET)
    try:
        if sys.platform == "linux":
            name.bind(f"\0memoryhub-serves-{host}-{port}")
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            probe.listen(1)
    except OSError as error:
        name.close()
        raise CommandError(_sentence(host, port, error)) from None
    return name


def _sentence(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Another program answers at {host}:{port} already. Stop it, or name another port with --port."
    if error.errno == errno.EACCES:
        return f"Port {port} may not be used by this user. Name another one with --port."
    return f"The hub cannot answer at {host}:{port}: {error.strerror or error}."
