"""Screens long texts before their store is locked, so that no other writer has to wait for the screening."""

from typing import NamedTuple

from memoryhub.actions.core import sql
from memoryhub.actions.core.rules.ruling import Looked, Spans
from memoryhub.actions.core.stored import StoredMemory
from memoryhub.actions.core.transactions import in_slices, is_open, require_own_thread
from memoryhub.actions.findings import findings, refusals
from memoryhub.pure import sensitive
from memoryhub.pure.protocol import text
from memoryhub.pure.protocol.commands import Command, Create, Insert, StrReplace
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.pure.sensitive import TooMuch
from memoryhub.pure.text.novelty import Novelty

LONG = 8_000
"""Characters from which on a text is long: a shorter one is screened in some milliseconds at most."""


class Ahead(NamedTuple):
    """The results of reading and screening before the store was locked.

    `looked` is for `Tree.looked`, and `at_hand` (the memory that was read) for `Tree.at_hand`. `at_hand` is None if the
    memory was read in another transaction.
    """

    looked: Looked
    at_hand: StoredMemory | None = None


NOTHING = Ahead({})


def of_command(store_id: str, command: Command | ToolError) -> Ahead:
    """Return what the store's rules for sensitive text find in the text that a command will write.

    A text with fewer than LONG characters is not screened here. On PostgreSQL, an edit that writes fewer than LONG
    characters is not screened here either. Raises NotTogether if the committer runs this call, but another thread must
    run it, because the text is long.
    """
    if isinstance(command, Create):
        return Ahead(of_text(store_id, None, command.file_text))
    if not isinstance(command, StrReplace | Insert):
        return NOTHING
    written = command.new_str if isinstance(command, StrReplace) else command.insert_text
    if not sql.IS_SQLITE and len(written) < LONG:
        return NOTHING
    sql.connect()
    row = sql.one_at(sql.MEMORY_AT, store_id, command.path)
    memory = StoredMemory(*row) if row else None
    at_hand = memory if sql.IS_SQLITE and is_open() else None
    if memory is None or len(memory.content) + len(written) < LONG:
        return Ahead({}, at_hand)
    return Ahead(_of_edit(store_id, command, memory.content))


def _of_edit(store_id: str, command: StrReplace | Insert, old: str) -> Looked:
    try:
        if isinstance(command, Insert):
            return of_text(store_id, old, text.insert(command.path, old, command.insert_line, command.insert_text))
        new = text.replace(command.path, old, command.old_str, command.new_str).text
    except ToolError:  # the command will be refused
        return {}
    start = old.find(command.old_str)
    return of_text(store_id, old, new, (start, start + len(command.new_str)))


def of_text(store_id: str, old: str | None, new: str, written: tuple[int, int] | None = None) -> Looked:
    """Return the findings of a store's rules in a new text. For `written`, see `findings.screen`.

    The result is empty for a text with fewer than LONG characters, and for one that equals the old text.
    """
    if len(new) < LONG or new == old:
        return {}
    require_own_thread()
    rules = refusals.rules_of(store_id)
    if rules is None:
        return {}
    with in_slices() as pause:
        novelty = Novelty(old, new, written, steps=sensitive.STEPS, pause=pause)
        try:
            found: Spans | TooMuch = findings.spans_of(rules, novelty)
        except TooMuch as error:
            found = error
    return {(rules, old, new): found}
