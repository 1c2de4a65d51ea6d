"""What `serve` tells its worker processes, and what the environment says about connections."""

import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from memoryhub.serving.connections import Network

_VARIABLE = "MEMORYHUB_SERVING"


@dataclass(frozen=True, slots=True)
class Options:
    """The port, the threads of a worker, and how many connections one address may have to it."""

    port: int
    threads: int
    by_address: int
    trusted: Sequence[Network]

    @classmethod
    def of_environment(cls) -> "Options":
        port, _, threads = os.environ.get(_VARIABLE, "0/16").partition("/")
        trusted = [ipaddress.ip_network(proxy, strict=False) for proxy in settings.TRUSTED_PROXIES]
        return cls(int(port), int(threads), settings.MEMORYHUB_CONNECTIONS_BY_ADDRESS, trusted)


def for_workers(port: int, threads: int) -> None:
    """Leaves the options where the workers find them, which are started from this process."""
    os.environ[_VARIABLE] = f"{port}/{threads}"
