"""The port of a server: one hub alone listens there.

granian's workers share their port among themselves (`SO_REUSEPORT`), and the kernel would as readily share it with
the workers of another hub of the same user, which would then get a part of the requests, and of the passwords.
"""

import errno
import socket
import sys

from django.core.management.base import CommandError


def address_of(host: str, port: int) -> str:
    """The IP address that a host stands for, an IPv4 one where it has both; granian knows no names."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, OverflowError):
        raise CommandError(f"There is no address {host}:{port} to answer at: name one of this machine.") from None
    address = str(min(found, key=lambda one: one[0] != socket.AF_INET)[4][0])
    if "%" in address:
        raise CommandError(f"{address} belongs to one network card alone. Name another address with --host.")
    return address


def url_of(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def reserve(host: str, port: int) -> socket.socket:
    """Makes sure that nobody else serves the port, and that no other hub will; close what it returns to end that.

    A socket of the kernel's own namespace keeps the name of the address for as long as this process or one of its
    workers lives: it is there too while a worker is started again and nobody listens. Who listens without having asked
    for that name is found by binding the port alone for a moment.
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
