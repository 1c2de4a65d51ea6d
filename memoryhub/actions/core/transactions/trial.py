"""Runs acts without effect, in a transaction that is rolled back."""

from collections.abc import Iterator
from contextlib import contextmanager

from memoryhub.actions.core.transactions import is_open, writing


class _Over(Exception):
    """Ends a trial, so that the transaction is rolled back."""


@contextmanager
def without_effect() -> Iterator[None]:
    """Open a transaction like `writing`, and roll it back at the end of the block.

    Keep the block short, because other writers wait. Raises RuntimeError inside another transaction.
    """
    if is_open():
        raise RuntimeError("a trial cannot undo a part of a transaction")
    try:
        with writing():
            yield
            raise _Over
    except _Over:
        pass
