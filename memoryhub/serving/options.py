"""Options that `serve` passes to its worker processes, and settings about connections."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

_VARIABLE = "MEMORYHUB_SERVING"


@dataclass(frozen=True, slots=True)
class Options:
    """The port, the threads of a worker, how many connections one address may have to it, and the trusted proxies.

    The connections of trusted proxies are not counted by address.
    """

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
    """Store the options in the environment, which the workers inherit."""
    os.environ[_VARIABLE] = f"{port}/{threads}"
