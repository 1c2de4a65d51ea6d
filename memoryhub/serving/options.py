"""What `serve` tells its worker processes, and what the environment says about connections."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

_VARIABLE = "MEMORYHUB_SERVING"


@dataclass(frozen=True, slots=True)
class Options:
    """The port, the threads of a worker, how many connections one address may have to it, and the trusted proxies,
    which are not counted."""

    port: int
    threads: int
    by_address: int
    trusted: Sequence[str]

    @classmethod
    def of_environment(cls) -> "Options":
        port, _, threads = os.environ.get(_VARIABLE, "0/16").partition("/")
        by_address = settings.MEMORYHUB_CONNECTIONS_BY_ADDRESS
        return cls(int(port), int(threads), by_address, settings.TRUSTED_PROXIES)


def for_workers(port: int, threads: int) -> None:
    """Leaves the options where the workers find them, which are started from this process."""
    os.environ[_VARIABLE] = f"{port}/{threads}"
