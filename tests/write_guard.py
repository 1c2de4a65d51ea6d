"""The write guard: while tests run, rows of the hub are written inside the transaction of the actions alone."""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from django.db.models import Model, QuerySet

from memoryhub.actions.core import audit, transactions
from memoryhub.actions.core.audit import Act, Actor, Record
from memoryhub.models import Door

WRITES_OF_A_ROW = ("save_base", "delete")
WRITES_OF_ROWS = (
    "create", "get_or_create", "update_or_create", "bulk_create", "bulk_update", "update", "delete", "_insert",
    "_update", "_raw_delete",
)  # fmt: skip

_thread = threading.local()


class UnguardedWrite(AssertionError):
    """A hub model was written outside the transaction helper of the actions."""


@contextmanager
def tampering() -> Iterator[None]:
    """For tests that change rows behind the hub's back."""
    _thread.tampers = True
    try:
        yield
    finally:
        _thread.tampers = False


@contextmanager
def arranging() -> Iterator[None]:
    """For tests that make governing rows without an act of the hub: an entry in the hub's chain seals them."""
    with transactions.writing():
        yield
        act = Act(Actor.system("tests"), Door.COMMAND, datetime(2025, 11, 3, 9, tzinfo=UTC))
        audit.on_hub(act, Record("arranged"))


def check(model: type[Model], method: str) -> None:
    """Raises UnguardedWrite unless this thread may write."""
    if model._meta.app_label != "memoryhub" or transactions.is_open() or getattr(_thread, "tampers", False):
        return
    raise UnguardedWrite(f"{model.__name__}.{method}() outside `actions.transactions.writing()`")


def install() -> Callable[[], None]:
    """Puts the guard on every model and QuerySet; gives a function that takes it off."""
    undo = [_guard(Model, name, type) for name in WRITES_OF_A_ROW]
    undo += [_guard(QuerySet, name, lambda rows: rows.model) for name in WRITES_OF_ROWS]
    return lambda: [take_off() for take_off in undo] and None


def _guard(owner: type, name: str, model_of: Callable[[Any], type[Model]]) -> Callable[[], None]:
    original = getattr(owner, name)

    @functools.wraps(original)
    def guarded(self: Any, *arguments: Any, **options: Any) -> Any:
        check(model_of(self), name)
        return original(self, *arguments, **options)

    setattr(owner, name, guarded)
    return lambda: setattr(owner, name, original)
