"""The write guard: while tests run, rows of the hub are written inside the transaction of the actions alone."""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from django.db.models import Model, QuerySet

from memoryhub.actions.core import audit, transactions
from memoryhub.actions.core.audit import Act, Actor, ChainHead, Record
from memoryhub.actions.core.audit.command import Scope
from memoryhub.actions.core.audit.commands import COMMANDS
from memoryhub.models import HUB, Door

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
        audit.on_hub(act, Record("seal_rows"))


class UnknownCommand(AssertionError):
    """An audit entry names a command that the registry does not have, or not for this chain."""


def _check_command(head: ChainHead, act: Act, record: Record) -> int:
    """What an agent's tool call names is its own; everything else is in `actions.core.audit.commands`."""
    command = COMMANDS.get(record.command or "")
    of_agent = act.door.has_tool or record.command is None
    if command is None and not of_agent:
        raise UnknownCommand(f"{record.command} is not in actions.core.commands")
    scope = Scope.HUB if head.id == HUB else Scope.STORE
    if command and not of_agent and not command.scope & scope:
        raise UnknownCommand(f"{record.command} is written into a chain that is not of its scope: {head.id}")
    return _append(head, act, record)


_append = audit.append


def check(model: type[Model], method: str) -> None:
    """Raises UnguardedWrite unless this thread may write."""
    if model._meta.app_label != "memoryhub" or transactions.is_open() or getattr(_thread, "tampers", False):
        return
    raise UnguardedWrite(f"{model.__name__}.{method}() outside `actions.transactions.writing()`")


def install() -> Callable[[], None]:
    """Puts the guard on every model and QuerySet; gives a function that takes it off."""
    undo = [_guard(Model, name, type) for name in WRITES_OF_A_ROW]
    undo += [_guard(QuerySet, name, lambda rows: rows.model) for name in WRITES_OF_ROWS]
    audit.append = _check_command

    def take_off() -> None:
        audit.append = _append
        for one in undo:
            one()

    return take_off


def _guard(owner: type, name: str, model_of: Callable[[Any], type[Model]]) -> Callable[[], None]:
    original = getattr(owner, name)

    @functools.wraps(original)
    def guarded(self: Any, *arguments: Any, **options: Any) -> Any:
        check(model_of(self), name)
        return original(self, *arguments, **options)

    setattr(owner, name, guarded)
    return lambda: setattr(owner, name, original)
