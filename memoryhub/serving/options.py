"""The options that `serve` passes to its worker processes."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

_VARIABLE = "MEMORYHUB_SERVING"


@dataclass(frozen=True, slots=True)
class Options:
    """The port, the threads of a worker, how many connections to it one address may have, and the trusted proxies.

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
    """Write the options into the environment, which the worker processes inherit."""
    os.environ[_VARIABLE] = f"{port}/{threads}"
