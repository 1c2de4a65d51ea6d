"""Runs acts without effect: in a transaction that is rolled back."""

from collections.abc import Iterator
from contextlib import contextmanager

from memoryhub.actions.core.transactions import is_open, writing


class _Over(Exception):
    """Ends a trial: the transaction is rolled back."""


@contextmanager
def without_effect() -> Iterator[None]:
    """Open a transaction like `writing`, and undo at the end whatever was written in it.

    Keep it short, because other writers wait for its end (on PostgreSQL those of the same memory store). What is read
    inside is true of the trial only.
    """
    if is_open():
        raise RuntimeError("a trial cannot undo a part of a transaction")
    try:
        with writing():
            yield
            raise _Over
    except _Over:
        pass
