"""The store guard: while tests run, each statement of the hub on a large table names its memory store.

It reads what the ORM and `actions.sql` send. What is wrong fails the test in which it was sent. Statements that tests
send themselves are theirs to write.
"""

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.backends.utils import CursorWrapper

from memoryhub.actions.core.sql import statements
from tests.support.directory import run_directory
from tests.support.statements import Checker

ROOT = Path(__file__).resolve().parent.parent.parent
HUB, TESTS, MODELS = (f"{ROOT / name}{os.sep}" for name in ("memoryhub", "tests", "memoryhub/models"))
PASSED_ON = (
    __file__,
    str(ROOT / "memoryhub/actions/core/sql/__init__.py"),
    str(ROOT / "memoryhub/actions/core/sql/statements.py"),
    str(ROOT / "memoryhub/management/commands/migrate.py"),
    str(ROOT / "memoryhub/models/rows.py"),
    str(ROOT / "memoryhub/models/sealed.py"),
    str(ROOT / "tests/support/write_guard.py"),
)

LARGE = {
    "Activity": "store_id", "Assignment": "store_id", "AuditEntry": "chain", "CallWindow": "store_id",
    "Claim": "store_id",
    "Comment": "store_id", "Directory": "store_id", "Finding": "store_id", "Growth": "store_id", "Hold": "store_id",
    "IdempotentCall": "store_id", "Memory": "store_id", "MemoryText": "store_id", "MemoryVersion": "store_id",
    "Notice": "store_id", "Proposal": "store_id", "ProposedChange": "store_id",
    "Receipt": "store", "Redaction": "chain", "RefusedCalls": "store_id", "Review": "store_id", "Viewed": "store_id",
}  # fmt: skip

ACROSS_STORES = {
    "actions.retention.housekeeping.forget_calls": "looks for what is old in all stores, by an index of its time",
    "actions.erasure.places.is_shared": "whether a session also did something in any other store",
    "actions.findings.unsettled._next_store": "finds a memory store with work to do by an index of its own",
    "actions.transfer.importing.preview._known": "an id that an import brings may be that of a memory in any store",
    "actions.transfer.importing.writes._History._ids": "an id that an import brings must be new in the whole hub",
    "api.sessions.list_sessions": "whether a session did something in any store that a key reaches",
    "api.sessions.retrieve_session": "whether a session did something in any store that a key reaches",
    "migrations.0007_seals.seal_rows": "seals the rows of all stores, once",
    "templatetags.counts.counts_for": "counts up to a bound in all stores of a person",
    "web.agents.agents.agent": "whether a session did something in any store of a person",
    "web.agents.rows.agent_rows": "whether a session did something in any store of a person",
    "web.erasure.receipts.every_receipt": "a page of the receipts in all stores of a person, in the order of their ids",
    "web.sessions.session.session": "whether a session did something in any store of a person",
    "web.findings.rows.items_of": "a page of findings from many stores names them by their ids alone",
    "web.review.parts.parts_of": "a page of versions from many stores names them by their ids alone",
}
"""The functions whose statements may go across stores, and why."""

mistakes: list[str] = []
"""What has been seen since the last test ended."""


def stores_of_tables() -> dict[str, str]:
    """The store column of each large table."""
    return {apps.get_model("memoryhub", name)._meta.db_table: column for name, column in LARGE.items()}


def install(heard: Callable[[str], None]) -> Callable[[], None]:
    """Reads every statement from now on, and tells it to `heard`; returns a function that stops it."""
    dialect = "sqlite" if connection.vendor == "sqlite" else "postgres"
    checker = Checker(stores_of_tables(), dialect, run_directory() / "right-statements")

    def look(statement: str) -> None:
        heard(statement)
        if found := checker.problems(statement):
            report(found, statement)

    undo = [_tap(CursorWrapper, "_execute", look), _tap(CursorWrapper, "_executemany", look)]
    undo.append(_tap_driver(look))
    return lambda: [stop() for stop in undo] and None


def report(found: tuple[str, ...], statement: str) -> None:
    sender = sender_of(sys._getframe(2))
    if sender is not None and sender not in ACROSS_STORES:
        mistakes.append(f"{sender}: {'; '.join(found)}: {statement}")


def sender_of(frame: FrameType | None) -> str | None:
    """The function of the hub that sent a statement, as module and name; none where a test did."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith((HUB, TESTS)) and file not in PASSED_ON:
            break
        frame = frame.f_back
    if frame is None or not frame.f_code.co_filename.startswith(HUB):
        return None
    return f"{frame.f_globals['__name__'].removeprefix('memoryhub.')}.{frame.f_code.co_qualname}"


def seen_since() -> list[str]:
    """The mistakes since this was asked last."""
    found = list(dict.fromkeys(mistakes))
    mistakes.clear()
    return found


def _tap(owner: type, name: str, look: Callable[[str], None]) -> Callable[[], None]:
    original = getattr(owner, name)

    @functools.wraps(original)
    def tapped(self: Any, statement: str, *arguments: Any) -> Any:
        look(statement)
        return original(self, statement, *arguments)

    setattr(owner, name, tapped)
    return lambda: setattr(owner, name, original)


def _tap_driver(look: Callable[[str], None]) -> Callable[[], None]:
    original = statements._run

    def tapped(statement: statements.Statement, values: Any, **options: bool) -> Any:
        look(statement.text)
        return original(statement, values, **options)

    statements._run = tapped
    return lambda: setattr(statements, "_run", original)
