"""Screens long texts before their store is locked, so that no other writer waits for it."""

from django.db import connection

from memoryhub.actions.core import sql, store_settings
from memoryhub.actions.core.rules.ruling import Looked, Spans, ruling
from memoryhub.actions.core.stored import StoredMemory
from memoryhub.actions.core.transactions import in_slices, require_own_thread
from memoryhub.actions.findings import findings
from memoryhub.pure import sensitive
from memoryhub.pure.protocol import text
from memoryhub.pure.protocol.commands import Command, Create, Insert, StrReplace
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.sensitive import TooMuch
from memoryhub.pure.text.novelty import Novelty

LONG = 8_000
"""Characters from which on a text is long: a shorter one is screened in some milliseconds at most."""


def of_command(store_id: str, command: Command | ToolError) -> Looked:
    """Return what a store's rules find in the text that a command writes, for `Tree.looked`; nothing for a short text.

    Raises NotTogether in the thread that commits. On PostgreSQL an edit is looked at only if it writes a long text:
    others wait for the store, and not for the whole hub.
    """
    if isinstance(command, Create):
        return of_text(store_id, None, command.file_text)
    if not isinstance(command, StrReplace | Insert):
        return {}
    written = command.new_str if isinstance(command, StrReplace) else command.insert_text
    if connection.vendor != "sqlite" and len(written) < LONG:
        return {}
    sql.connect()
    row = sql.one(sql.MEMORY_AT, store_id, command.path)
    old = StoredMemory(*row).content if row else None
    if old is None or len(old) + len(written) < LONG:
        return {}
    try:
        return _of_edit(store_id, command, old)
    except ToolError:  # the command will be refused
        return {}


def _of_edit(store_id: str, command: StrReplace | Insert, old: str) -> Looked:
    if isinstance(command, Insert):
        return of_text(store_id, old, text.insert(command.path, old, command.insert_line, command.insert_text))
    start = old.find(command.old_str)
    new = text.replace(command.path, old, command.old_str, command.new_str).text
    return of_text(store_id, old, new, (start, start + len(command.new_str)))


def of_text(store_id: str, old: str | None, new: str, written: tuple[int, int] | None = None) -> Looked:
    """Return what a store's rules find in a new text, as `of_command`."""
    if len(new) < LONG or new == old:
        return {}
    require_own_thread()
    sql.connect()
    row = sql.one(sql.STORE, store_id)
    if row is None:
        return {}
    rules = ruling(*store_settings.of_row(row[sql.TOTAL_COLUMNS :]).rules)
    if rules.is_idle:
        return {}
    with in_slices() as pause:
        novelty = Novelty(old, new, written, steps=sensitive.STEPS, pause=pause)
        try:
            found: Spans | TooMuch = findings.spans_of(rules, novelty)
        except TooMuch as error:
            found = error
    return {(rules, old, new): found}
