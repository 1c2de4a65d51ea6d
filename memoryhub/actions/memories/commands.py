"""The six commands on a locked memory tree. A command that raises ToolError has changed no memory."""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from memoryhub.actions.core import proposing, sql, tree
from memoryhub.actions.core.audit import Record
from memoryhub.actions.core.proposing import Wanted
from memoryhub.actions.core.rules import holds, path_rules
from memoryhub.actions.core.rules.path_rules import Change
from memoryhub.actions.core.stored import StoredMemory
from memoryhub.actions.core.tree import Tree
from memoryhub.actions.findings import findings
from memoryhub.actions.findings.findings import Screened
from memoryhub.pure.path_rules import PathRule, Verb
from memoryhub.pure.protocol import paths, rendering, results, text
from memoryhub.pure.protocol.commands import Command, Create, Delete, Insert, Rename, StrReplace, View
from memoryhub.pure.protocol.errors import ToolError


def view(store: Tree, command: View) -> Record:
    """Return the lines of a memory and record the read, or return the listing of a directory."""
    record = looked_at(store, command)
    if record.memory is not None:
        tree.mark_read(store, record.memory, command.path)
    return record


def looked_at(store: Tree, command: View) -> Record:
    """Return the same as `view`, but do not record the read: this is for a view without an audit entry."""
    memory = tree.memory_at(store, command.path)
    if memory is None:
        return _view_directory(store, command)
    most = store.limits.view_characters
    shown = rendering.view(command.path, memory.content, command.view_range, sys.maxsize if most is None else most)
    return Record(
        "view",
        answer=shown.answer,
        path=command.path,
        memory=memory.id,
        version=memory.head,
        rendered=True,
        first_line=shown.first,
        last_line=shown.last,
        cut=shown.cut,
        has_notes=memory.waiting_notes > 0,
    )


def _view_directory(store: Tree, command: View) -> Record:
    if store.sight:
        return _view_what_is_seen(store, command)
    row = sql.one(sql.DIRECTORY_BYTES, store.store, command.path)
    if row is None:
        raise ToolError(results.view_not_found(command.path))
    place = sql.in_directory(store.store, command.path)
    entries = [rendering.Entry(path, total, True) for path, total in sql.rows(sql.DIRECTORIES_IN, *place)]
    entries += [rendering.Entry(path, total, False) for path, total in sql.rows(sql.MEMORIES_IN, *place)]
    return Record("view", answer=rendering.listing(command.path, row[0], entries), path=command.path)


def _view_what_is_seen(store: Tree, command: View) -> Record:
    """Return the listing of a directory with only the memories that the agent sees.

    Raises ToolError if there are none, except in the root.
    """
    memories = tree.memories_under(store, command.path)
    if not memories and command.path != paths.ROOT_DIRECTORY:
        raise ToolError(results.view_not_found(command.path))
    entries = rendering.entries_of(command.path, ((memory.path, memory.size) for memory in memories))
    answer = rendering.listing(command.path, sum(memory.size for memory in memories), entries)
    return Record("view", answer=answer, path=command.path)


def create(store: Tree, command: Create) -> Record:
    """Create a memory or, if the store allows overwriting, give the memory at the path the new text.

    Raises ToolError if a directory is at the path, or a memory that may not be overwritten.
    """
    tree.require_active(store)
    memory = tree.memory_at(store, command.path)
    if memory and store.overwrite:
        rule = _require_may_edit(store, memory, lambda: command.file_text)
        screened = findings.screen_written(store, command.path, memory.content, command.file_text)
        record = _changed(store, command.name, memory, screened, results.created(command.path), rule=rule)
        return record._replace(text=screened.text) if record.versions else record
    if memory or tree.directory_at(store, command.path):
        raise ToolError(results.already_exists(command.path))
    directory = require_place(store, command.path, results.cannot_create)
    rule = path_rules.require(store, Verb.CREATE, [Change(command.path)])
    place = findings.screen_path(store, command.path)
    screened = findings.screen_written(store, command.path, None, command.file_text)
    if rule:
        proposing.propose(store, rule, [Wanted(None, command.path, screened.text)])
    tree.check_limits(store, command.path, old_size=None, new_size=len(screened.text.encode()))
    memory_id = tree.add_memory(store, command.path, screened.text, directory)
    findings.note(store, memory_id, store.made[-1].id, screened, place)
    answer = results.created(command.path) + findings.masked_sentence(screened)
    return Record(
        "create",
        answer=answer,
        path=command.path,
        memory=memory_id,
        version=store.made[-1].id,
        versions=tuple(store.made),
        text=screened.text,
    )


def str_replace(store: Tree, command: StrReplace) -> Record:
    """Replace one passage of a memory."""
    tree.require_active(store)
    memory = _memory(store, command.path, results.path_not_found)
    replaced = partial(text.replace, command.path, memory.content, command.old_str, command.new_str)
    rule = _require_may_edit(store, memory, lambda: replaced().text)
    edit = replaced()
    start = memory.content.find(command.old_str)
    written = (start, start + len(command.new_str))
    screened = findings.screen_written(store, command.path, memory.content, edit.text, written=written)
    answer = rendering.edited_again(screened.text, edit.first, edit.last)
    record = _changed(store, command.name, memory, screened, answer, rule=rule)
    if screened.masked:
        return record
    return Record(
        "str_replace",
        answer=answer,
        path=command.path,
        memory=memory.id,
        version=record.version,
        versions=record.versions,
        rendered=True,
        first_line=edit.first,
        last_line=edit.last,
    )


def insert(store: Tree, command: Insert) -> Record:
    """Insert lines after a line of a memory."""
    tree.require_active(store)
    memory = _memory(store, command.path, results.does_not_exist)
    inserted = partial(text.insert, command.path, memory.content, command.insert_line, command.insert_text)
    rule = _require_may_edit(store, memory, inserted)
    content = inserted()
    screened = findings.screen_written(store, command.path, memory.content, content)
    return _changed(store, command.name, memory, screened, results.edited(command.path), rule=rule)


def delete(store: Tree, command: Delete) -> Record:
    """Move a memory, or a directory with everything under it, to the trash."""
    if command.path == paths.ROOT_DIRECTORY:
        raise ToolError(results.cannot_delete_root())
    memory = tree.memory_at(store, command.path)
    memories = [memory] if memory else tree.memories_under(store, command.path)
    if not memories:
        raise ToolError(results.does_not_exist(command.path))
    rule = path_rules.require(store, Verb.DELETE, [Change(memory.path, memory) for memory in memories])
    holds.require_free(store, [(memory.id, memory.path) for memory in memories])
    if rule:
        proposing.propose(store, rule, [Wanted(memory, memory.path, deletes=True) for memory in memories])
    tree.delete_memories(store, command.path, memories)
    return _of_many(store, "delete", memories, results.deleted(command.path), command.path)


def rename(store: Tree, command: Rename) -> Record:
    """Move a memory, or a directory with everything under it, to a free path."""
    tree.require_active(store)
    old, new = command.path, command.new_path
    if old == paths.ROOT_DIRECTORY:
        raise ToolError(results.cannot_rename_root())
    memory = tree.memory_at(store, old)
    directory = None if memory else tree.directory_at(store, old)
    if not memory and directory is None:
        raise ToolError(results.does_not_exist(old))
    if tree.is_taken(store, new):
        raise ToolError(results.destination_exists(new))
    if new.startswith(old + "/"):
        raise ToolError(results.inside_itself(old, new))
    require_place(store, new, lambda path, above: results.cannot_rename(old, path, above))
    moved = [memory] if memory else tree.memories_under(store, old)
    moves = [(one, new + one.path[len(old) :]) for one in moved]
    if not all(tree.sees(store, new_path) for _, new_path in moves):
        raise path_rules.hidden_place(new)
    paths.require_moved([new_path for _, new_path in moves])
    rule = path_rules.require_may_move(store, moves)
    holds.require_may_move(store, [(one.path, new_path) for one, new_path in moves] if store.sight else [(old, new)])
    place = findings.screen_path(store, new)
    tree.check_versions(store, moved)
    if rule:
        proposing.propose(store, rule, [Wanted(one, one.path, new_path=new_path) for one, new_path in moves])
    if memory:
        tree.move_memory(store, memory, new)
    else:
        assert directory is not None  # the memory or the directory exists
        tree.move_directory(store, directory, old, new, moved)
    findings.note_path(store, moved, place)
    return _of_many(store, "rename", moved, results.renamed(old, new), old, new)


def _require_may_edit(store: Tree, memory: StoredMemory, new_text: Callable[[], str]) -> PathRule | None:
    return path_rules.require(store, Verb.EDIT, [Change(memory.path, memory, new_text)])


VERBS: dict[type, Callable[[Tree, Any], Record]] = {
    View: view, Create: create, StrReplace: str_replace, Insert: insert, Delete: delete, Rename: rename,
}  # fmt: skip


def perform(store: Tree, command: Command) -> Record:
    """Run a command and return its record. A refusal has a record too, and changes nothing."""
    try:
        return VERBS[type(command)](store, command)
    except ToolError as error:
        return refusal(error, command.name, command.path, getattr(command, "new_path", None))


def refusal(error: ToolError, command: str | None, path: str | None, new_path: str | None) -> Record:
    """Return the record of a call that is answered with an error."""
    return Record(command, ok=False, answer=error.message, path=path, new_path=new_path)


def require_place(store: Tree, path: str, sentence: Callable[[str, str], str]) -> str | None:
    """Return the id of the directory that contains `path`; None if it does not exist yet.

    Raises ToolError if a memory is where `path` needs a directory: `sentence(path, path of that memory)` returns the
    message. If a memory that is hidden from the agent takes or blocks `path`, the message is that of a path rule.
    """
    directory = tree.directory_of(store, path)
    above = None if directory else tree.memory_above(store, path)
    if above is not None:
        raise ToolError(sentence(path, above))
    if store.sight and store.sight.hides_at(store.store, path):
        raise path_rules.hidden_place(path)
    return directory


def _memory(store: Tree, path: str, sentence: Callable[[str], str]) -> StoredMemory:
    memory = tree.memory_at(store, path)
    if memory is None:
        raise ToolError(sentence(path))
    return memory


def write(store: Tree, memory: StoredMemory, screened: Screened) -> str:
    """Give a memory a new text, unless it has that text already; return the id of its newest version."""
    if screened.text == memory.content:
        return memory.head
    size = len(screened.text.encode())
    tree.check_limits(store, memory.path, old_size=memory.size, new_size=size, versions=memory.kept)
    version = tree.write_text(store, memory, screened.text)
    findings.note(store, memory.id, version, screened)
    return version


def _changed(
    store: Tree, command: str, memory: StoredMemory, screened: Screened, answer: str, *, rule: PathRule | None
) -> Record:
    """Give a memory a new text, or only propose this change if a `rule` requires that.

    Return the record, which names the newest version.
    """
    if rule and screened.text != memory.content:
        proposing.propose(store, rule, [Wanted(memory, memory.path, screened.text)])
    version = write(store, memory, screened)
    return Record(
        command,
        answer=answer + findings.masked_sentence(screened),
        path=memory.path,
        memory=memory.id,
        version=version,
        versions=tuple(store.made),
    )


def _of_many(
    store: Tree, command: str, memories: list[StoredMemory], answer: str, path: str, new_path: str | None = None
) -> Record:
    """Return the record of a command on one or several memories.

    `memory` and `version` are set only for exactly one memory.
    """
    single = len(memories) == 1
    return Record(
        command,
        answer=answer,
        path=path,
        new_path=new_path,
        memory=memories[0].id if single else None,
        version=store.made[0].id if single else None,
        versions=tuple(store.made),
    )
